//! A server of an [`Export`](crate::Export) by the NBD protocol (doc/proto.md of the NBD project), and a client.
//!
//! Supported: fixed newstyle with `INFO`, `GO`, `LIST`, `ABORT`, `EXPORT_NAME`, structured replies and the metadata
//! context `base:allocation`; reads, writes, flushes, trims, zeroes and block status, with forced unit access; TLS in
//! the server. A flush covers answered writes of all connections. Not supported: extended headers and `CACHE`.

mod address;
mod budget;
mod client;
mod handshake;
mod long;
mod offer;
mod pieces;
mod server;
mod socket;
mod tls;
mod transmission;
mod wire;

pub use address::{Address, Uri};
pub use client::NbdExport;
pub use offer::{PIECE_BYTES, ServerOptions};
pub use server::Server;
pub use tls::Tls;
