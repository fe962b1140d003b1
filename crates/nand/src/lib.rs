//! The properties and rules of flash: geometry, addresses, page and block rules, timing numbers.
//!
//! This crate knows nothing of logical pages, requests or time. It has the structure of an array
//! ([`Geometry`]), the times of its operations ([`Timing`]), and the rules for their order in a
//! block ([`FlashArray`]).

mod array;
mod device;
mod geometry;
mod ids;
mod registry;
mod timing;

pub use array::{FlashArray, NandRule};
pub use device::{DeviceError, NandConfig, NandDevice, device_names, device_toml};
pub use geometry::{Geometry, GeometryError};
pub use ids::{Block, Channel, Chip, NO_PPN, Plane, Ppn};
pub use timing::Timing;
