//! The server: limits the number of connections, and finishes begun requests before it ends.

use std::collections::HashMap;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::address::Address;
use super::handshake;
use super::offer::{Offer, ServerOptions};
use super::socket::{Listener, Stream};
use super::tls::{Secure, Tls};
use super::transmission::{self, Terms};
use crate::export::Export;
use crate::figures::{Counters, Figures};
use crate::locks::{lock, unpoisoned};

struct Shared {
    export: Arc<dyn Export>,
    options: ServerOptions,
    counters: Counters,
    stopping: AtomicBool,
    connected: Mutex<HashMap<u64, Stream>>,
    all_gone: Condvar,
}

impl Shared {
    fn connected(&self) -> MutexGuard<'_, HashMap<u64, Stream>> {
        lock(&self.connected)
    }

    /// If places are taken by clients that have left, waits a moment for one.
    fn has_place(&self) -> bool {
        let most = self.options.connections_max;
        let full = |connected: &mut HashMap<u64, Stream>| {
            connected.len() >= most && connected.values().any(Stream::has_hung_up)
        };
        self.wait_while(A_MOMENT_TO_LEAVE, full).len() < most
    }

    fn wait_for_all(&self, patience: Duration) -> bool {
        self.wait_while(patience, |connected| !connected.is_empty()).is_empty()
    }

    fn wait_while(
        &self,
        patience: Duration,
        waits: impl FnMut(&mut HashMap<u64, Stream>) -> bool,
    ) -> MutexGuard<'_, HashMap<u64, Stream>> {
        unpoisoned(self.all_gone.wait_timeout_while(self.connected(), patience, waits)).0
    }
}

/// A server of one export. It ends at [`Server::stop`] or when dropped.
///
/// Memory of a connection: [`ServerOptions::connection_bytes_max`], and a 1 MiB stack a thread, of which only the used
/// part takes room.
pub struct Server {
    shared: Arc<Shared>,
    address: Address,
    waker: Option<UnixStream>,
    acceptor: Option<JoinHandle<Vec<JoinHandle<()>>>>,
}

impl Server {
    /// Fails if the address is taken, cannot be made, or can be reached from other machines.
    pub fn start(export: Arc<dyn Export>, address: &Address, options: ServerOptions) -> io::Result<Server> {
        let far = options.tls.as_ref().is_some_and(Tls::knows_clients);
        let listener = Listener::bind(address, far)?;
        let address = listener.address()?;
        let (waker, woken) = UnixStream::pair()?;
        let options = options.checked();
        let shared = Arc::new(Shared {
            export,
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

    pub fn address(&self) -> &Address {
        &self.address
    }

    pub fn uri(&self) -> String {
        let options = &self.shared.options;
        let uri = self.address.uri(&options.name);
        if options.tls.is_some() { uri.replacen("nbd", "nbds", 1) } else { uri }
    }

    pub fn figures(&self) -> Figures {
        self.shared.counters.figures()
    }

    /// Takes no more connections and requests, finishes those that were begun, and makes all durable.
    pub fn stop(&mut self) -> io::Result<()> {
        let Some(acceptor) = self.acceptor.take() else { return Ok(()) };
        self.shared.stopping.store(true, Relaxed);
        drop(self.waker.take());
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
            // Until its thread has ended, a connection holds the export, which then cannot be opened again.
            threads.into_iter().for_each(|thread| drop(thread.join()));
        }
        if self.shared.options.flush_at_end { self.shared.export.flush() } else { Ok(()) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// Wait of a new client for the place of one that has left.
const A_MOMENT_TO_LEAVE: Duration = Duration::from_millis(500);
/// Pause when the system has no descriptors left.
const A_MOMENT: Duration = Duration::from_millis(20);

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
            converse(&its, &stream, number);
        });
        threads.extend(thread);
    }
    threads
}

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

fn converse(shared: &Shared, stream: &Stream, number: u64) {
    let options = &shared.options;
    let read_only = options.read_only || shared.export.read_only().is_some();
    let offer = Offer { export: &*shared.export, options, read_only };
    // A client that talks nonsense, or too slowly, has gone.
    let Ok(Some((agreed, secure))) = handshake::negotiate(stream, &offer) else { return };
    let Shared { counters, stopping, .. } = shared;
    let terms = Terms { offer, agreed, number, counters, stopping };
    transmission::serve(secure.as_ref().map_or(stream, Secure::stream), &terms);
}

/// Waits for a connection; false when there shall be none any more.
fn wait_for_one(listener: &Listener, woken: &UnixStream) -> bool {
    let wanted = |descriptor| libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    let mut both = [wanted(listener.as_fd().as_raw_fd()), wanted(woken.as_raw_fd())];
    loop {
        // SAFETY: the array has two entries, whose descriptors are open as long as the borrowed streams.
        let found = unsafe { libc::poll(both.as_mut_ptr(), 2, -1) };
        if found > 0 {
            return both[1].revents == 0;
        }
    }
}
