//! Network block devices: a server of an [`Export`](crate::Export) to whoever speaks the protocol of the NBD project
//! (doc/proto.md), and a client of other servers.
//!
//! Spoken are fixed newstyle with `INFO`, `GO`, `LIST`, `ABORT`, `EXPORT_NAME`, structured replies and the metadata
//! context `base:allocation`; reads, writes, flushes, trims, zeroes and block status, with forced unit access; of the server
//! also TLS. A flush covers what was answered on all connections. Left out are extended headers and `CACHE`.

mod address;
mod budget;
mod client;
mod handshake;
mod server;
mod socket;
mod tls;
mod transmission;
mod wire;

pub use address::{Address, Uri};
pub use client::NbdExport;
pub use server::{Server, ServerOptions};
pub use tls::Tls;
