//! Sockets: one type for both kinds, and how a private one comes to be.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::address::Address;

#[derive(Debug)]
pub(crate) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

macro_rules! either {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream {
            Stream::Unix($inner) => $call,
            Stream::Tcp($inner) => $call,
        }
    };
}

impl Stream {
    pub(crate) fn connect(address: &Address) -> io::Result<Stream> {
        match address {
            Address::Unix(path) => UnixStream::connect(path).map(Stream::Unix),
            Address::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port))?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
        }
    }

    /// How long a read or a write may take; none: as long as it takes.
    pub(crate) fn set_patience(&self, patience: Option<Duration>) -> io::Result<()> {
        // A patience of nothing would mean that there is no limit.
        let patience = patience.map(|patience| patience.max(Duration::from_millis(1)));
        either!(self, inner => inner.set_read_timeout(patience).and_then(|()| inner.set_write_timeout(patience)))
    }

    pub(crate) fn set_nonblocking(&self, at_once: bool) -> io::Result<()> {
        either!(self, inner => inner.set_nonblocking(at_once))
    }

    /// A peer that only ended its sending is still there. For TCP this shows only after a write to it.
    pub(crate) fn has_hung_up(&self) -> bool {
        let mut one = libc::pollfd { fd: self.as_fd().as_raw_fd(), events: 0, revents: 0 };
        // SAFETY: the entry is there, and its descriptor is open as long as `self` is.
        let found = unsafe { libc::poll(&raw mut one, 1, 0) };
        found > 0 && one.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0
    }

    pub(crate) fn shutdown(&self, how: Shutdown) {
        let _ = either!(self, inner => inner.shutdown(how));
    }

    pub(crate) fn try_clone(&self) -> io::Result<Stream> {
        Ok(match self {
            Stream::Unix(inner) => Stream::Unix(inner.try_clone()?),
            Stream::Tcp(inner) => Stream::Tcp(inner.try_clone()?),
        })
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        either!(self, inner => inner.as_fd())
    }
}

impl Read for &Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        either!(self, inner => { let mut inner = inner; inner.read(into) })
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        either!(self, inner => { let mut inner = inner; inner.write(bytes) })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A socket that takes connections. Its file goes with it.
#[derive(Debug)]
pub(crate) enum Listener {
    Unix(UnixListener, PathBuf),
    Tcp(TcpListener),
}

impl Listener {
    /// A Unix socket is private from the first moment. TCP is loopback only unless clients have certificates (`far`).
    pub(crate) fn bind(address: &Address, far: bool) -> io::Result<Listener> {
        let told = |error: io::Error| io::Error::new(error.kind(), format!("{address}: {error}"));
        match address {
            Address::Unix(path) => bind_private(path).map_err(told),
            Address::Tcp { host, port } => {
                let places: Vec<_> = (host.as_str(), *port).to_socket_addrs().map_err(told)?.collect();
                let open = places.iter().find(|place| !far && !place.ip().is_loopback());
                if let Some(open) = open {
                    let message = format!(
                        "{address}: {} can be reached from other machines, and anybody there would be served; \
                         listen on 127.0.0.1 or a Unix socket and forward it (ssh -L), or let clients prove who they \
                         are (a folder of TLS certificates with ca-cert.pem in it)",
                        open.ip()
                    );
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
                }
                TcpListener::bind(&places[..]).map(Listener::Tcp).map_err(told)
            }
        }
    }

    pub(crate) fn address(&self) -> io::Result<Address> {
        Ok(match self {
            Listener::Unix(_, path) => Address::Unix(path.clone()),
            Listener::Tcp(listener) => {
                let place = listener.local_addr()?;
                Address::Tcp { host: place.ip().to_string(), port: place.port() }
            }
        })
    }

    pub(crate) fn accept(&self) -> io::Result<Stream> {
        match self {
            Listener::Unix(listener, _) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Unix(listener, _) => listener.as_fd(),
            Listener::Tcp(listener) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            // It may have been taken away by hand.
            let _ = fs::remove_file(path);
        }
    }
}

/// The system's limit, less the end.
const PATH_BYTES_MAX: usize = 107;

/// Makes the socket in a private folder and moves it, so that no other user can connect even for a moment.
fn bind_private(path: &Path) -> io::Result<Listener> {
    // The socket must be found even if the working folder changes later.
    let path = &std::path::absolute(path)?;
    let bytes = path.as_os_str().len();
    if bytes > PATH_BYTES_MAX {
        let text = format!(
            "the path of a socket has at most {PATH_BYTES_MAX} bytes, this one has {bytes}, and nobody could connect to it; \
             name a shorter one"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    make_way(path)?;
    let parent = path.parent().unwrap_or(Path::new("/"));
    let folder = parent.join(format!(".nbd-{}", std::process::id()));
    fs::DirBuilder::new().mode(0o700).create(&folder)?;
    let hidden = folder.join("s");
    let bound = bind_in(&folder).and_then(|listener| {
        fs::set_permissions(&hidden, fs::Permissions::from_mode(0o600))?;
        fs::rename(&hidden, path)?;
        Ok(listener)
    });
    let _ = fs::remove_file(&hidden);
    let _ = fs::remove_dir(&folder);
    bound.map(|listener| Listener::Unix(listener, path.clone()))
}

/// Binds the socket `s` of a folder, whose own path may be too long for one with it.
fn bind_in(folder: &Path) -> io::Result<UnixListener> {
    let whole = folder.join("s");
    if whole.as_os_str().len() <= PATH_BYTES_MAX {
        return UnixListener::bind(whole);
    }
    let opened = fs::File::open(folder)?;
    UnixListener::bind(format!("/proc/self/fd/{}/s", opened.as_raw_fd()))
}

/// Removes a socket without a listener; other files stay.
fn make_way(path: &Path) -> io::Result<()> {
    let there = match fs::symlink_metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let taken = |message: &str| Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
    if !there.file_type().is_socket() {
        return taken("this is a file and no socket; choose another name");
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        _ => taken("another server listens there; stop it, or choose another name"),
    }
}
