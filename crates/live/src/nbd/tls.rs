//! TLS as an option of the NBD protocol. Everything that the client negotiated before it is void.
//!
//! A thread for each connection encrypts and decrypts, with a buffer in each direction. One end of a socket pair
//! stands in for the connection, so that requests are served as on any other.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};

use super::socket::Stream;

const TURN_BYTES: usize = 64 * 1024;
const FAREWELL: Duration = Duration::from_secs(10);

/// As nbdkit, QEMU and libnbd name them.
const CERTIFICATE: &str = "server-cert.pem";
const KEY: &str = "server-key.pem";
const AUTHORITY: &str = "ca-cert.pem";

#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
    knows_clients: bool,
}

impl fmt::Debug for Tls {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Tls").field("knows_clients", &self.knows_clients).finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads `server-cert.pem` and `server-key.pem`. With `ca-cert.pem`, clients need a certificate of that authority.
    pub fn from_folder(folder: &Path) -> io::Result<Tls> {
        let certificates = certificates(&folder.join(CERTIFICATE))?;
        let key_file = folder.join(KEY);
        let key = PrivateKeyDer::from_pem_file(&key_file)
            .map_err(|error| unread(&key_file, "a private key", &error))?;
        let authority = folder.join(AUTHORITY);
        let knows_clients = authority.exists();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let told = |error: &dyn fmt::Display| io::Error::other(format!("{}: {error}", folder.display()));
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| told(&error))?;
        let builder = if knows_clients {
            let mut roots = RootCertStore::empty();
            for root in self::certificates(&authority)? {
                roots.add(root).map_err(|error| unread(&authority, "an authority's certificate", &error))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.map_err(|error| told(&error))?)
        } else {
            builder.with_no_client_auth()
        };
        let config = builder.with_single_cert(certificates, key).map_err(|error| told(&error))?;
        Ok(Tls { config: Arc::new(config), knows_clients })
    }

    pub fn knows_clients(&self) -> bool {
        self.knows_clients
    }

    /// Bytes sent ahead of the answer are read as TLS and fail, so that no plain text precedes the encrypted stream.
    pub(crate) fn upgrade<T: Read + Write>(&self, timed: &mut T, wire: &Stream) -> io::Result<Secure> {
        let mut session = ServerConnection::new(Arc::clone(&self.config)).map_err(io::Error::other)?;
        while session.is_handshaking() {
            session.complete_io(timed)?;
        }
        while session.wants_write() {
            session.write_tls(timed)?;
        }
        wire.set_patience(None)?;
        let (ours, its) = UnixStream::pair()?;
        its.set_nonblocking(true)?;
        let mut pump = Pump { session, wire: wire.try_clone()?, inner: its, to_inner: Vec::new(), sent: 0 };
        let thread = thread::Builder::new().name("nbd-tls".to_owned()).spawn(move || pump.run())?;
        Ok(Secure { stream: Stream::Unix(ours), pump: Some(thread) })
    }
}

fn certificates(file: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = read.map_err(|error| unread(file, "a certificate", &error))?;
    if found.is_empty() { Err(unread(file, "a certificate", &"it holds none")) } else { Ok(found) }
}

fn unread(file: &Path, what: &str, error: &dyn fmt::Display) -> io::Error {
    let file: PathBuf = file.to_owned();
    io::Error::other(format!("{}: {what} in PEM was expected ({error})", file.display()))
}

pub(crate) struct Secure {
    stream: Stream,
    pump: Option<JoinHandle<()>>,
}

impl Secure {
    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }
}

impl Drop for Secure {
    fn drop(&mut self) {
        self.stream.shutdown(Shutdown::Both);
        if let Some(pump) = self.pump.take() {
            let _ = pump.join();
        }
    }
}

struct Pump {
    session: ServerConnection,
    wire: Stream,
    inner: UnixStream,
    /// Of these bytes, the first `sent` have been forwarded.
    to_inner: Vec<u8>,
    sent: usize,
}

#[derive(Default)]
struct Ended {
    wire: bool,
    inner: Option<Instant>,
}

impl Pump {
    fn run(&mut self) {
        let _ = self.carry();
        let _ = self.inner.shutdown(Shutdown::Both);
        self.wire.shutdown(Shutdown::Both);
    }

    fn carry(&mut self) -> io::Result<()> {
        self.wire.set_nonblocking(true)?;
        // A client may have sent more with the end of its handshake.
        self.decrypt()?;
        let mut ended = Ended::default();
        let mut taken = vec![0; TURN_BYTES];
        loop {
            let pending = self.sent < self.to_inner.len();
            let writes = self.session.wants_write();
            if ended.inner.is_some() && !writes {
                return Ok(());
            }
            let wanted = Events {
                wire: events(!ended.wire && !pending, writes),
                inner: events(ended.inner.is_none() && !writes, pending),
            };
            let patience = ended.inner.map(|since| FAREWELL.saturating_sub(since.elapsed()));
            if patience.is_some_and(|left| left.is_zero()) {
                return Ok(());
            }
            let Events { wire, inner } = wait(&self.wire, &self.inner, wanted, patience)?;
            if wire & GOES != 0 {
                again(self.session.write_tls(&mut &self.wire))?;
            }
            if wire & COMES != 0 && !ended.wire && !pending {
                ended.wire = self.receive()?;
            }
            if self.sent < self.to_inner.len() && (inner & GOES != 0 || !pending) {
                self.pass_on()?;
            }
            if ended.wire && self.sent == self.to_inner.len() {
                // Requests end; replies may still come.
                let _ = self.inner.shutdown(Shutdown::Write);
            }
            if inner & COMES != 0 && ended.inner.is_none() && !self.session.wants_write() {
                match again((&self.inner).read(&mut taken))? {
                    Some(0) => {
                        ended.inner = Some(Instant::now());
                        self.session.send_close_notify();
                    }
                    Some(bytes) => self.session.writer().write_all(&taken[..bytes])?,
                    None => {}
                }
            }
        }
    }

    /// Returns whether the stream has ended.
    fn receive(&mut self) -> io::Result<bool> {
        let Some(bytes) = again(self.session.read_tls(&mut &self.wire))? else { return Ok(false) };
        Ok(self.decrypt()? || bytes == 0)
    }

    /// Returns whether the client closed its side.
    fn decrypt(&mut self) -> io::Result<bool> {
        let state = self.session.process_new_packets();
        let state = state.map_err(|error| {
            // Sends the alert, if the client still listens.
            let _ = self.session.write_tls(&mut &self.wire);
            io::Error::new(io::ErrorKind::InvalidData, error)
        })?;
        self.sent = 0;
        self.to_inner.clear();
        self.to_inner.resize(state.plaintext_bytes_to_read(), 0);
        self.session.reader().read_exact(&mut self.to_inner)?;
        Ok(state.peer_has_closed())
    }

    fn pass_on(&mut self) -> io::Result<()> {
        while self.sent < self.to_inner.len() {
            match again((&self.inner).write(&self.to_inner[self.sent..]))? {
                Some(bytes) => self.sent += bytes,
                None => break,
            }
        }
        Ok(())
    }
}

/// In the bits of `poll`: wanted, or possible now.
struct Events {
    wire: i16,
    inner: i16,
}

/// Events after which an end can be read or written without waiting.
const COMES: i16 = libc::POLLIN | libc::POLLHUP | libc::POLLERR;
const GOES: i16 = libc::POLLOUT;

fn events(reads: bool, writes: bool) -> i16 {
    (if reads { libc::POLLIN } else { 0 }) | (if writes { libc::POLLOUT } else { 0 })
}

fn wait(wire: &Stream, inner: &UnixStream, wanted: Events, patience: Option<Duration>) -> io::Result<Events> {
    // An end of which nothing is wanted is left out: it would be reported again and again once it is closed.
    let place = |fd, events| libc::pollfd { fd: if events == 0 { -1 } else { fd }, events, revents: 0 };
    let mut both = [place(wire.as_fd().as_raw_fd(), wanted.wire), place(inner.as_raw_fd(), wanted.inner)];
    let timeout = patience.map_or(-1, |left| left.as_millis().clamp(1, 1 << 30) as i32);
    // SAFETY: the array has two entries, whose descriptors are open as long as the borrowed streams.
    let found = unsafe { libc::poll(both.as_mut_ptr(), 2, timeout) };
    if found < 0 {
        let error = io::Error::last_os_error();
        let nothing = Events { wire: 0, inner: 0 };
        return if error.kind() == io::ErrorKind::Interrupted { Ok(nothing) } else { Err(error) };
    }
    Ok(Events { wire: both[0].revents, inner: both[1].revents })
}

/// `None` if the call would have blocked.
fn again(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted].contains(&error.kind()) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
