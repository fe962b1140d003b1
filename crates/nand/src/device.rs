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
    /// Source of the numbers.
    #[schemars(extend("x-label" = true))]
    pub source: String,
    /// Keys that the source does not determine, as another value would fit it as well. For example
    /// `["engine.write_completes"]`. A key that you set by yourself is none of them.
    #[serde(default)]
    #[schemars(extend("x-label" = true))]
    pub undetermined: Vec<String>,
    /// Channels (buses) of the device. For example 8.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub channels: u32,
    /// Chips that share one channel. For example 8.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub chips_per_channel: u32,
    /// Dies in a chip. For example 2.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub dies_per_chip: u32,
    /// Planes in a die. For example 4.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub planes_per_die: u32,
    /// Erase blocks in a plane. Lower it to make a small trace collect garbage. For example 64.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub blocks_per_plane: u32,
    /// Pages in an erase block. For example 256.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub pages_per_block: u32,
    /// User bytes of a page, the unit of mapping. For example 4096.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub page_bytes: u32,
    /// Pages programmed together (one-shot programming): planes x bits of a cell x bytes of a flash
    /// page / `nand.page_bytes`. For example 48 for TLC with four planes, flash pages of 16 KB and
    /// pages of 4 KB. Pages wait in controller RAM until their unit is full; then they are
    /// transferred one after the other and programmed in one tPROG. `dynamic` and `least-loaded`
    /// allocation fill a unit before the next plane's turn; `static` and `hipa` follow the address
    /// (see `ftl.allocation.stripe_pages`). A flush pads the unit unless RAM is power-protected (`engine.write_cache_protected`).
    /// Divides `nand.pages_per_block`; needs writes that complete before their program
    /// (`engine.write_completes` is `hashed` or `buffered`, or a write cache). If the planes of a
    /// die always work together, describe them as one plane with larger blocks.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub program_pages: u32,
    /// Neighbouring pages of a block in one flash page. For example 4: flash pages of 16 KB and
    /// pages of 4 KB. One tR reads all pages of a flash page that collection moves, or that host
    /// reads wait for at the same time. Divides `nand.program_pages`.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub sense_pages: u32,
    /// Parity stripe in program units, for host data and for internal data separately. For example
    /// 16: every 15 units of data need one of parity, and the flash programs 16/15 of the bytes. 0:
    /// none. Parity takes the time of a program, on the dies in turn; its space is not part of the
    /// geometry.
    #[serde(default)]
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub parity_stripe: u32,
    /// Spare bytes of a page (ECC and metadata), transferred with it. For example 128.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub metadata_bytes: u32,
    /// tR in microseconds: array to page register. With `nand.read_types_us`, the mean that
    /// controllers assume. For example 60.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub read_us: f64,
    /// tR in microseconds by type of flash page, for example `[60, 100]` for the two pages of an
    /// MLC word line. The type is the flash page's number in its block modulo the number of types.
    /// Empty: `nand.read_us` for all.
    #[serde(default)]
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub read_types_us: Vec<f64>,
    /// tPROG in microseconds: page register to array. For example 600.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub program_us: f64,
    /// tBERS in microseconds: one block. For example 3500.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub erase_us: f64,
    /// Channel speed in megatransfers per second. For example 1200.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub bus_mt_s: f64,
    /// Channel width in bits. For example 8.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub bus_width_bits: u32,
    /// Command and address cycles of every operation, in nanoseconds of channel time. For example
    /// 200.
    #[schemars(extend("x-moves" = "reads and writes: the flash array is another one"))]
    pub command_ns: u64,
    /// Program/erase cycles that a block endures. For example 3000 for TLC.
    pub pe_cycles: u32,
}

/// A device that cannot be built.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// The levels do not fit an address.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// A number beyond the limits of flash.
    #[error("nand.{key} is {value}: expected {expected}")]
    Value {
        /// The key without its table.
        key: &'static str,
        /// As given.
        value: String,
        /// The accepted values.
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
    /// Program units of which one is parity; 0: none.
    pub parity_stripe: u32,
    /// Program/erase cycles that a block endures.
    pub pe_cycles: u32,
}

fn one() -> u32 {
    1
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
    pub fn resolve(&self) -> Result<NandDevice, DeviceError> {
        let geometry = Geometry::new([
            self.channels,
            self.chips_per_channel,
            self.dies_per_chip,
            self.planes_per_die,
            self.blocks_per_plane,
            self.pages_per_block,
            self.page_bytes,
        ])?;
        self.check()?;
        let types = self.read_types_us.iter().map(|&us| microseconds("read_types_us", us));
        let bits = f64::from(self.page_bytes + self.metadata_bytes) * 8.0;
        let transfers = (bits / f64::from(self.bus_width_bits)).ceil();
        Ok(NandDevice {
            geometry: geometry.with_units(self.program_pages, self.sense_pages),
            timing: Timing {
                read_ns: microseconds("read_us", self.read_us)?,
                read_types_ns: types.collect::<Result<_, _>>()?,
                program_ns: microseconds("program_us", self.program_us)?,
                erase_ns: microseconds("erase_us", self.erase_us)?,
                transfer_ns: (transfers * 1000.0 / self.bus_mt_s).round() as u64,
                command_ns: self.command_ns,
            },
            parity_stripe: self.parity_stripe,
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
        self.check_units()
    }

    fn check_units(&self) -> Result<(), DeviceError> {
        let wrong =
            |key, value: u32, expected| Err(DeviceError::Value { key, value: value.to_string(), expected });
        let divides = |count: u32, whole: u32| count > 0 && whole.is_multiple_of(count);
        if !divides(self.program_pages, self.pages_per_block) {
            return wrong("program_pages", self.program_pages, "a divisor of nand.pages_per_block");
        }
        if !divides(self.sense_pages, self.program_pages) {
            return wrong("sense_pages", self.sense_pages, "a divisor of nand.program_pages");
        }
        if self.parity_stripe == 1 {
            return wrong("parity_stripe", 1, "0 (no parity) or at least 2 program units");
        }
        Ok(())
    }
}

impl NandDevice {
    /// Reads the flash of a device file. Its tables, such as `[engine]`, say how the controller works and are left out.
    pub fn from_toml(text: &str) -> Result<Self, DeviceError> {
        let mut flash: toml::Table = toml::from_str(text)?;
        flash.retain(|_, value| !value.is_table());
        flash.try_into::<NandConfig>()?.resolve()
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
    fn units_are_divisors_and_pages_have_types_in_turn() {
        let text = device_toml("rr-ssd").unwrap();
        let with = |keys: &str| NandDevice::from_toml(&format!("{text}\n{keys}\n"));
        let device = with("program_pages = 16\nsense_pages = 4\nread_types_us = [60, 100]").unwrap();
        let page = |page| device.geometry.ppn(crate::Plane::new(1), 2, page);
        let types = [0, 3, 4, 7, 8].map(|at| device.timing.read_ns_of(device.geometry.flash_page(page(at))));
        assert_eq!(types, [60_000, 60_000, 100_000, 100_000, 60_000]);
        assert!([0, 16, 32].iter().all(|&page| device.geometry.begins_unit(page)));
        for (keys, message) in [
            ("program_pages = 0", "nand.program_pages is 0: expected a divisor of nand.pages_per_block"),
            ("program_pages = 7", "nand.program_pages is 7: expected a divisor of nand.pages_per_block"),
            ("sense_pages = 2", "nand.sense_pages is 2: expected a divisor of nand.program_pages"),
            (
                "parity_stripe = 1",
                "nand.parity_stripe is 1: expected 0 (no parity) or at least 2 program units",
            ),
        ] {
            assert_eq!(with(keys).unwrap_err().to_string(), message);
        }
        assert!(
            with("read_types_us = [60, -1]").unwrap_err().to_string().contains("nand.read_types_us is -1")
        );
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
