//! What flash is and permits: geometry, addresses, page and block rules, timing numbers.
//!
//! This crate knows nothing of logical pages, requests or time: it says how an
//! array is built ([`Geometry`]), how long its operations take ([`Timing`]), and
//! what may be done to a block in which order ([`FlashArray`]).

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
