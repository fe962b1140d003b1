//! A NAND device as configured: level sizes and datasheet numbers, and the presets in `devices/`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::geometry::{Geometry, GeometryError};
use crate::registry::PRESETS;
use crate::timing::Timing;

/// The flash array: its levels, its timing and its endurance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NandConfig {
    /// Where the numbers come from.
    #[schemars(extend("x-label" = true))]
    pub source: String,
    /// Channels (buses) of the device.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub channels: u32,
    /// Chips that share one channel.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub chips_per_channel: u32,
    /// Dies in a chip.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub dies_per_chip: u32,
    /// Planes in a die.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub planes_per_die: u32,
    /// Erase blocks in a plane. Lower it to study garbage collection with a small trace.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub blocks_per_plane: u32,
    /// Pages in an erase block.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub pages_per_block: u32,
    /// User bytes of a page.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub page_bytes: u32,
    /// Spare bytes of a page that travel with it (ECC and metadata).
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub metadata_bytes: u32,
    /// tR in microseconds: array to page register.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub read_us: f64,
    /// tPROG in microseconds: page register to array.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub program_us: f64,
    /// tBERS in microseconds: one block.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub erase_us: f64,
    /// Channel speed in megatransfers per second.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub bus_mt_s: f64,
    /// Channel width in bits.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub bus_width_bits: u32,
    /// Command and address cycles before every operation, in nanoseconds of channel time.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub command_ns: u64,
    /// Program/erase cycles that a block endures.
    pub pe_cycles: u32,
}

/// A device that cannot be built.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// The levels do not fit an address.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// A number is outside what flash can be.
    #[error("nand.{key} is {value}: expected {expected}")]
    Value {
        /// The key without its table.
        key: &'static str,
        /// As given.
        value: String,
        /// What would do.
        expected: &'static str,
    },
    /// A device file that is not a device.
    #[error("device file: {0}")]
    Toml(#[from] toml::de::Error),
}

/// A device ready for use: addresses, durations in nanoseconds, endurance.
#[derive(Debug, Clone)]
pub struct NandDevice {
    /// Levels and address arithmetic.
    pub geometry: Geometry,
    /// Durations.
    pub timing: Timing,
    /// Program/erase cycles that a block endures.
    pub pe_cycles: u32,
}

fn microseconds(key: &'static str, us: f64) -> Result<u64, DeviceError> {
    if us.is_finite() && (0.0..=1e9).contains(&us) {
        // Rounded once here; all later arithmetic is on integers.
        return Ok((us * 1000.0).round() as u64);
    }
    Err(DeviceError::Value {
        key,
        value: us.to_string(),
        expected: "a duration between 0 and 1e9 microseconds",
    })
}

impl NandConfig {
    /// Checks the numbers and computes geometry and integer durations.
    ///
    /// # Errors
    /// [`DeviceError`] naming the key and what was expected.
    pub fn resolve(&self) -> Result<NandDevice, DeviceError> {
        let geometry = Geometry::new([
            ("channels", self.channels),
            ("chips_per_channel", self.chips_per_channel),
            ("dies_per_chip", self.dies_per_chip),
            ("planes_per_die", self.planes_per_die),
            ("blocks_per_plane", self.blocks_per_plane),
            ("pages_per_block", self.pages_per_block),
            ("page_bytes", self.page_bytes),
        ])?;
        self.check()?;
        let bits = f64::from(self.page_bytes + self.metadata_bytes) * 8.0;
        let transfers = (bits / f64::from(self.bus_width_bits)).ceil();
        Ok(NandDevice {
            geometry,
            timing: Timing {
                read_ns: microseconds("read_us", self.read_us)?,
                program_ns: microseconds("program_us", self.program_us)?,
                erase_ns: microseconds("erase_us", self.erase_us)?,
                transfer_ns: (transfers * 1000.0 / self.bus_mt_s).round() as u64,
                command_ns: self.command_ns,
            },
            pe_cycles: self.pe_cycles,
        })
    }

    fn check(&self) -> Result<(), DeviceError> {
        let wrong = |key, value: String, expected| Err(DeviceError::Value { key, value, expected });
        if !(self.bus_mt_s.is_finite() && self.bus_mt_s > 0.0) {
            return wrong("bus_mt_s", self.bus_mt_s.to_string(), "more than 0 megatransfers per second");
        }
        if self.bus_width_bits == 0 {
            return wrong("bus_width_bits", "0".into(), "at least 1 bit");
        }
        if self.pe_cycles == 0 {
            return wrong("pe_cycles", "0".into(), "at least 1 program/erase cycle");
        }
        if self.pages_per_block > u32::from(u16::MAX) {
            return wrong("pages_per_block", self.pages_per_block.to_string(), "at most 65535");
        }
        if !self.page_bytes.is_multiple_of(512) || self.page_bytes > 1 << 20 {
            return wrong("page_bytes", self.page_bytes.to_string(), "a multiple of 512 up to 1 MiB");
        }
        if self.metadata_bytes > self.page_bytes {
            return wrong("metadata_bytes", self.metadata_bytes.to_string(), "at most page_bytes");
        }
        Ok(())
    }
}

impl NandDevice {
    /// Reads a device file.
    ///
    /// # Errors
    /// [`DeviceError`] when it is not TOML, has an unknown key, or describes no device.
    pub fn from_toml(text: &str) -> Result<Self, DeviceError> {
        toml::from_str::<NandConfig>(text)?.resolve()
    }
}

/// Names of the devices compiled in, in the order of `devices/`.
pub fn device_names() -> Vec<&'static str> {
    PRESETS.iter().map(|(name, _)| *name).collect()
}

/// The file of a device compiled in.
pub fn device_toml(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|(preset, _)| *preset == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_a_device() {
        for name in device_names() {
            let device = NandDevice::from_toml(device_toml(name).unwrap());
            assert!(device.is_ok(), "{name}: {}", device.unwrap_err());
        }
    }

    #[test]
    fn the_rr_ssd_device_is_that_of_table_ii() {
        let device = NandDevice::from_toml(device_toml("rr-ssd").unwrap()).unwrap();
        assert_eq!(device.geometry.chips(), 64);
        let chip_bytes = device.geometry.pages() / 64 * 4096;
        assert_eq!(chip_bytes, 16 << 30);
        assert_eq!(device.timing.read_ns, 75_000);
        // 4,544 bytes at 533 MB/s.
        assert_eq!(device.timing.transfer_ns, 8_525);
    }

    #[test]
    fn impossible_numbers_are_refused_by_name() {
        let text = device_toml("rr-ssd").unwrap();
        for (from, to, key) in [
            ("read_us = 75", "read_us = -75", "read_us"),
            ("bus_mt_s = 533", "bus_mt_s = 0", "bus_mt_s"),
            ("page_bytes = 4096", "page_bytes = 4000", "page_bytes"),
        ] {
            assert!(text.contains(from), "{from}");
            let error = NandDevice::from_toml(&text.replacen(from, to, 1)).unwrap_err();
            assert!(error.to_string().contains(key), "{error}");
        }
    }
}
