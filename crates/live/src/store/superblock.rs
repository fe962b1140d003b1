//! The properties of a drive: written twice when it is made, and never again.
//!
//! Little-endian, 64 KB a copy: magic `FLASHTWN` (8 bytes), version of the format (u32), length of the text (u32),
//! number of the drive (16), logical pages (u32), bytes of half of the log (u64), bytes of the whole (u64), checksum
//! of all this and the text (u64), text: the system as TOML.

use flashtwin_ftl::FtlConfig;
use flashtwin_nand::{Geometry, NandConfig};
use serde::{Deserialize, Serialize};

use super::bytes::{Taker, checksum};
use super::error::DriveError;
use super::layout::{LEAST_LOG_BYTES, Layout, SUPERBLOCK_BYTES};
use super::medium::Medium;

pub(crate) const MAGIC: [u8; 8] = *b"FLASHTWN";
pub const VERSION: u32 = 2;
const HEADER_BYTES: usize = 60;
/// Each request may hold a page in RAM.
const MOST_PAGE_BYTES: u32 = 1 << 16;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    pub name: String,
    pub seed: u64,
    pub ftl: FtlConfig,
    pub nand: NandConfig,
    pub period_s: f64,
}

impl System {
    pub(crate) fn geometry(&self) -> Result<Geometry, String> {
        let geometry = self.nand.resolve().map_err(|error| error.to_string())?.geometry;
        let check = self.ftl.check(&geometry);
        check.map_err(|(key, value, expected)| format!("ftl.{key} is {value}: expected {expected}"))?;
        let page = geometry.page_bytes;
        if !page.is_power_of_two() || !(512..=MOST_PAGE_BYTES).contains(&page) {
            return Err(format!(
                "nand.page_bytes is {page}: expected a power of two, 512 to {MOST_PAGE_BYTES}"
            ));
        }
        let least = self.ftl.reserved_blocks(&geometry) + 1;
        if geometry.blocks_per_plane < least {
            let blocks = geometry.blocks_per_plane;
            return Err(format!("nand.blocks_per_plane is {blocks}: expected at least {least}"));
        }
        Ok(geometry)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Superblock {
    pub(crate) uuid: [u8; 16],
    pub(crate) system: System,
    pub(crate) layout: Layout,
}

impl Superblock {
    pub(crate) fn write(&self, medium: &dyn Medium) -> Result<(), DriveError> {
        let text = toml::to_string(&self.system).map_err(|error| DriveError::Config(error.to_string()))?;
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend(MAGIC);
        header.extend(VERSION.to_le_bytes());
        header.extend((text.len() as u32).to_le_bytes());
        header.extend(self.uuid);
        header.extend(self.layout.logical_pages.to_le_bytes());
        header.extend(self.layout.log_bytes.to_le_bytes());
        header.extend(self.layout.size_bytes.to_le_bytes());
        let sum = checksum(&self.uuid, &[&header, text.as_bytes()]);
        header.extend(sum.to_le_bytes());
        header.extend(text.as_bytes());
        if header.len() as u64 > SUPERBLOCK_BYTES {
            return Err(DriveError::Config("the system's configuration is longer than 64 KB".into()));
        }
        for copy in 0..2 {
            let written = medium.write_at(&header, Layout::superblock(copy));
            written.map_err(DriveError::medium("superblock"))?;
        }
        Ok(())
    }

    /// The first whole copy, and a note if the other one is damaged.
    pub(crate) fn read(medium: &dyn Medium) -> Result<(Self, Option<String>), DriveError> {
        let size = medium.size_bytes().map_err(DriveError::medium("superblock"))?;
        let copies = [0, 1].map(|copy| Self::read_copy(medium, copy, size));
        match copies {
            [Ok(first), Ok(_)] => Ok((first, None)),
            [Ok(whole), Err(error)] | [Err(error), Ok(whole)] => Ok((whole, Some(error.to_string()))),
            [Err(first), Err(_)] => Err(first),
        }
    }

    fn read_copy(medium: &dyn Medium, copy: u64, size: u64) -> Result<Self, DriveError> {
        let place = format!("superblock {copy}");
        let wrong = |text: &str| DriveError::image(place.clone(), text);
        if size < 2 * SUPERBLOCK_BYTES {
            return Err(wrong(
                "too short for a drive; `flashtwin serve --system NAME --size 8G IMAGE` makes one",
            ));
        }
        let mut bytes = vec![0; SUPERBLOCK_BYTES as usize];
        medium.read_at(&mut bytes, Layout::superblock(copy)).map_err(DriveError::medium(&place))?;
        let parsed = Header::parse(&bytes);
        let header =
            parsed.ok_or_else(|| wrong("not a drive of flashtwin (no FLASHTWN at its beginning)"))?;
        if header.version != VERSION {
            return Err(wrong(&format!(
                "format {}, this program knows {VERSION}: open it with the program that made it",
                header.version
            )));
        }
        let broken = "damaged: its checksum does not fit; put back a copy of the file";
        let text = header.text(&bytes).ok_or_else(|| wrong(broken))?;
        let system: System = toml::from_str(text).map_err(|error| wrong(error.message()))?;
        let geometry = system.geometry().map_err(|text| wrong(&text))?;
        let fits = header.logical_pages > 0
            && u64::from(header.logical_pages) <= flashtwin_ftl::Ftl::capacity_pages(&system.ftl, &geometry)
            && header.log_bytes >= LEAST_LOG_BYTES
            && header.log_bytes.is_multiple_of(super::layout::ALIGN)
            && header.log_bytes <= size;
        if !fits {
            return Err(wrong("its sizes do not fit its flash array"));
        }
        let aware = system.ftl.looks_at_contents();
        let layout = Layout::new(&geometry, header.logical_pages, aware, header.log_bytes);
        if layout.size_bytes != header.size_bytes || layout.size_bytes > size {
            let needs = layout.size_bytes;
            return Err(wrong(&format!(
                "{size} bytes are there, {needs} belong to it: the file was cut off"
            )));
        }
        Ok(Self { uuid: header.uuid, system, layout })
    }
}

struct Header {
    version: u32,
    text_bytes: usize,
    uuid: [u8; 16],
    logical_pages: u32,
    log_bytes: u64,
    size_bytes: u64,
    sum: u64,
}

impl Header {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut taker = Taker(bytes);
        if taker.array()? != MAGIC {
            return None;
        }
        Some(Self {
            version: taker.u32()?,
            text_bytes: taker.u32()? as usize,
            uuid: taker.array()?,
            logical_pages: taker.u32()?,
            log_bytes: taker.u64()?,
            size_bytes: taker.u64()?,
            sum: taker.u64()?,
        })
    }

    fn text<'a>(&self, bytes: &'a [u8]) -> Option<&'a str> {
        let text = bytes.get(HEADER_BYTES..HEADER_BYTES.checked_add(self.text_bytes)?)?;
        let sum = checksum(&self.uuid, &[&bytes[..HEADER_BYTES - 8], text]);
        if sum == self.sum { std::str::from_utf8(text).ok() } else { None }
    }
}
