//! The server: limits the number of connections, and finishes begun requests before it ends.

use std::collections::HashMap;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::address::Address;
use super::budget::Pool;
use super::handshake::{self, Offer};
use super::socket::{Listener, Stream};
use super::tls::{Secure, Tls};
use super::transmission::{self, Terms};
use crate::export::Export;
use crate::figures::{Counters, Figures};

/// How a server serves.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The export's name. The empty name, which asks for the default, is accepted as well.
    pub name: String,
    /// Description for people.
    pub description: String,
    /// Nothing may be written.
    pub read_only: bool,
    /// The server's TLS identity. With it, clients must speak TLS; if they prove themselves as
    /// well, they may come from other machines.
    pub tls: Option<Tls>,
    /// Clients at a time; more are sent away.
    pub connections_max: usize,
    /// How long a client may take to choose the export.
    pub handshake: Duration,
    /// Requests of a connection that are worked on at a time: a thread each.
    pub requests_max: usize,
    /// Bytes of the longest read or write.
    pub request_bytes_max: u32,
    /// Bytes of large reads and writes of a connection that are held at a time.
    pub in_flight_bytes_max: usize,
    /// The same for all connections together.
    pub memory_bytes_max: usize,
    /// How long requests that were begun may take when the server ends.
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
    fn checked(mut self) -> ServerOptions {
        self.requests_max = self.requests_max.max(1);
        // A single request must fit.
        self.in_flight_bytes_max = self.in_flight_bytes_max.max(self.request_bytes_max as usize);
        self.memory_bytes_max = self.memory_bytes_max.max(self.in_flight_bytes_max);
        self
    }
}

struct Shared {
    export: Arc<dyn Export>,
    options: ServerOptions,
    pool: Pool,
    counters: Counters,
    stopping: AtomicBool,
    /// Connections by number.
    connected: Mutex<HashMap<u64, Stream>>,
    all_gone: Condvar,
}

impl Shared {
    fn connected(&self) -> MutexGuard<'_, HashMap<u64, Stream>> {
        self.connected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether one more client may come; where places are taken by some that have left, after a moment.
    fn has_place(&self) -> bool {
        let deadline = Instant::now() + A_MOMENT_TO_LEAVE;
        let mut connected = self.connected();
        while connected.len() >= self.options.connections_max {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || !connected.values().any(Stream::has_hung_up) {
                return false;
            }
            connected = self.all_gone.wait_timeout(connected, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Waits until no connection is left, for as long as `patience`; whether none is.
    fn wait_for_all(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut connected = self.connected();
        while !connected.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            connected = self.all_gone.wait_timeout(connected, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

/// A server of one export. It ends at [`Server::stop`] or when dropped.
///
/// Memory of a connection: 64 KiB read ahead, 4 MiB for requests that fit, and a 1 MiB stack for
/// each thread, of which only the used part takes room. Large reads and writes draw on the shared
/// pool in addition.
pub struct Server {
    shared: Arc<Shared>,
    address: Address,
    /// A byte, or its closing, wakes the thread that accepts connections.
    waker: Option<UnixStream>,
    /// The thread that accepts connections; returns the connection threads that may still run.
    acceptor: Option<JoinHandle<Vec<JoinHandle<()>>>>,
}

impl Server {
    /// Begins to serve.
    ///
    /// # Errors
    /// The address is taken, cannot be made, or can be reached from other machines.
    pub fn start(export: Arc<dyn Export>, address: &Address, options: ServerOptions) -> io::Result<Server> {
        let far = options.tls.as_ref().is_some_and(Tls::knows_clients);
        let listener = Listener::bind(address, far)?;
        let address = listener.address()?;
        let (waker, woken) = UnixStream::pair()?;
        let options = options.checked();
        let shared = Arc::new(Shared {
            export,
            pool: Pool::new(options.memory_bytes_max),
            options,
            counters: Counters::default(),
            stopping: AtomicBool::new(false),
            connected: Mutex::default(),
            all_gone: Condvar::new(),
        });
        let its = Arc::clone(&shared);
        let acceptor = thread::Builder::new()
            .name("nbd-accept".to_owned())
            .spawn(move || accept(&its, &listener, &woken))?;
        Ok(Server { shared, address, waker: Some(waker), acceptor: Some(acceptor) })
    }

    /// Where it listens.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The URI by which clients reach it.
    pub fn uri(&self) -> String {
        let options = &self.shared.options;
        let uri = self.address.uri(&options.name);
        if options.tls.is_some() { uri.replacen("nbd", "nbds", 1) } else { uri }
    }

    /// Counters so far.
    pub fn figures(&self) -> Figures {
        self.shared.counters.figures()
    }

    /// Takes no more connections and requests, finishes those that were begun, and makes all durable.
    ///
    /// # Errors
    /// The I/O error of the export's last flush.
    pub fn stop(&mut self) -> io::Result<()> {
        let Some(acceptor) = self.acceptor.take() else { return Ok(()) };
        self.shared.stopping.store(true, Relaxed);
        drop(self.waker.take());
        // It would have panicked by a mistake of ours only, and there is nothing more to do then.
        let threads = acceptor.join().unwrap_or_default();
        for stream in self.shared.connected().values() {
            stream.shutdown(Shutdown::Read);
        }
        let mut all_gone = self.shared.wait_for_all(self.shared.options.farewell);
        if !all_gone {
            // Clients that do not take their replies.
            for stream in self.shared.connected().values() {
                stream.shutdown(Shutdown::Both);
            }
            all_gone = self.shared.wait_for_all(self.shared.options.farewell);
        }
        if all_gone {
            // Until its thread has ended, a connection holds the export, and the export cannot be
            // opened again.
            threads.into_iter().for_each(|thread| drop(thread.join()));
        }
        if self.shared.options.flush_at_end { self.shared.export.flush() } else { Ok(()) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The error is lost here; call `stop` to see it.
        let _ = self.stop();
    }
}

/// How long a new client waits for the place of one that has left.
const A_MOMENT_TO_LEAVE: Duration = Duration::from_millis(500);
/// How long to leave the system alone when it has no descriptors left.
const A_MOMENT: Duration = Duration::from_millis(20);

/// Accepts connections until it is stopped; returns the connection threads that may still run.
fn accept(shared: &Arc<Shared>, listener: &Listener, woken: &UnixStream) -> Vec<JoinHandle<()>> {
    let mut number = 0;
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    while wait_for_one(listener, woken) {
        let stream = match listener.accept() {
            Ok(stream) => stream,
            Err(_) => {
                thread::sleep(A_MOMENT);
                continue;
            }
        };
        number += 1;
        let counters = &shared.counters;
        let full = !shared.has_place();
        let Some(known) = (!full).then(|| stream.try_clone().ok()).flatten() else {
            counters.connections_refused.fetch_add(1, Relaxed);
            continue;
        };
        shared.connected().insert(number, known);
        counters.connections.fetch_add(1, Relaxed);
        counters.connections_in_all.fetch_add(1, Relaxed);
        let its = Arc::clone(shared);
        let gone = Gone { shared: Arc::clone(shared), number };
        threads.retain(|thread| !thread.is_finished());
        // Where there are no threads, the connection ends.
        let thread = thread::Builder::new().name("nbd-connection".to_owned()).spawn(move || {
            let _gone = gone;
            converse(&its, &stream);
        });
        threads.extend(thread);
    }
    threads
}

/// Takes a connection off the list, also when its thread panicked.
struct Gone {
    shared: Arc<Shared>,
    number: u64,
}

impl Drop for Gone {
    fn drop(&mut self) {
        let stream = self.shared.connected().remove(&self.number);
        if let Some(stream) = stream {
            stream.shutdown(Shutdown::Both);
        }
        self.shared.counters.connections.fetch_sub(1, Relaxed);
        self.shared.all_gone.notify_all();
    }
}

fn converse(shared: &Shared, stream: &Stream) {
    let options = &shared.options;
    let read_only = options.read_only || shared.export.read_only().is_some();
    let offer = Offer {
        export: &*shared.export,
        name: &options.name,
        description: &options.description,
        read_only,
        request_bytes_max: options.request_bytes_max,
        tls: options.tls.as_ref(),
    };
    // A client that talks nonsense, or too slowly, has gone.
    let Ok(Some((agreed, secure))) = handshake::negotiate(stream, &offer, options.handshake) else { return };
    let terms = Terms {
        export: &*shared.export,
        agreed,
        read_only,
        request_bytes_max: options.request_bytes_max,
        in_flight_bytes_max: options.in_flight_bytes_max,
        pool: &shared.pool,
        threads_max: options.requests_max,
        counters: &shared.counters,
        stopping: &shared.stopping,
    };
    transmission::serve(secure.as_ref().map_or(stream, Secure::stream), &terms);
}

/// Waits for a connection; false when there shall be none any more.
fn wait_for_one(listener: &Listener, woken: &UnixStream) -> bool {
    let wanted = |descriptor| libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    let mut both = [wanted(listener.as_fd().as_raw_fd()), wanted(woken.as_raw_fd())];
    loop {
        // SAFETY: the array has two entries, and their descriptors stay open as long as the
        // borrowed streams do.
        let found = unsafe { libc::poll(both.as_mut_ptr(), 2, -1) };
        if found > 0 {
            return both[1].revents == 0;
        }
    }
}
