use std::time::Duration;

use super::tls::Tls;
use crate::export::Export;

#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The empty name, which asks for the default, is accepted as well.
    pub name: String,
    pub description: String,
    pub read_only: bool,
    /// With it, clients must speak TLS. If they prove themselves as well, they may come from other machines.
    pub tls: Option<Tls>,
    pub connections_max: usize,
    pub handshake: Duration,
    pub requests_max: usize,
    pub request_bytes_max: u32,
    /// Bytes of large reads and writes of a connection at a time.
    pub in_flight_bytes_max: usize,
    pub memory_bytes_max: usize,
    /// How long begun requests may take when the server ends.
    pub farewell: Duration,
    /// Flush the export when the server ends; otherwise the caller does.
    pub flush_at_end: bool,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            name: String::new(),
            description: String::new(),
            read_only: false,
            tls: None,
            connections_max: 64,
            handshake: Duration::from_secs(10),
            requests_max: 16,
            request_bytes_max: 32 << 20,
            in_flight_bytes_max: 64 << 20,
            memory_bytes_max: 256 << 20,
            farewell: Duration::from_secs(10),
            flush_at_end: true,
        }
    }
}

impl ServerOptions {
    pub(crate) fn checked(mut self) -> ServerOptions {
        self.requests_max = self.requests_max.max(1);
        // A single request must fit.
        self.in_flight_bytes_max = self.in_flight_bytes_max.max(self.request_bytes_max as usize);
        self.memory_bytes_max = self.memory_bytes_max.max(self.in_flight_bytes_max);
        self
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Offer<'a> {
    pub(crate) export: &'a dyn Export,
    pub(crate) options: &'a ServerOptions,
    /// The export takes no writes, or the options say so.
    pub(crate) read_only: bool,
}
