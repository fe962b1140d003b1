use std::time::Duration;

use super::tls::Tls;
use crate::export::Export;

/// Read ahead of a connection's requests.
pub(super) const INPUT_BYTES: usize = 64 * 1024;
/// Memory that the threads of a connection keep between requests.
pub(super) const KEPT_BYTES: usize = 4 << 20;
/// Longer requests are carried out in pieces of this size.
pub const PIECE_BYTES: usize = 1 << 20;

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
    /// Bytes of a connection at a time of requests, or pieces of them, that do not fit into a thread's own memory.
    pub in_flight_bytes_max: usize,
    /// How long a client may take nothing of a reply, or send nothing of a begun request. Then it loses its connection.
    pub stalled: Duration,
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
            in_flight_bytes_max: 4 << 20,
            stalled: Duration::from_secs(60),
            farewell: Duration::from_secs(10),
            flush_at_end: true,
        }
    }
}

impl ServerOptions {
    /// Who waits for the modelled drive does nothing else meanwhile, and it sees no longer queue than this.
    pub fn for_twin() -> ServerOptions {
        ServerOptions { requests_max: 256, in_flight_bytes_max: 32 << 20, ..ServerOptions::default() }
    }

    /// What the requests of a connection take at most, beside the stacks of its threads.
    pub fn connection_bytes_max(&self) -> usize {
        INPUT_BYTES + KEPT_BYTES + self.in_flight_bytes_max
    }

    pub(crate) fn checked(mut self) -> ServerOptions {
        self.requests_max = self.requests_max.max(1);
        // A single piece must fit.
        self.in_flight_bytes_max = self.in_flight_bytes_max.max(PIECE_BYTES);
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
