//! The properties and rules of flash: addresses ([`Geometry`]), times ([`Timing`]), and the order of operations in a
//! block ([`FlashArray`]). It knows nothing of logical pages, requests or time.

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
