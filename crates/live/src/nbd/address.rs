//! Where servers are: a Unix socket or a TCP port, as a URI of the NBD project's doc/uri.md.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Assigned by IANA.
const PORT: u16 = 10809;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Unix(PathBuf),
    Tcp {
        host: String,
        /// 0 lets the system choose when listening.
        port: u16,
    },
}

impl Address {
    pub fn tcp(text: &str) -> io::Result<Address> {
        let wrong = || invalid(format!("'{text}' is not an address; write it like 127.0.0.1:10809"));
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let port = port.parse().map_err(|_| wrong())?;
        if host.is_empty() {
            return Err(wrong());
        }
        Ok(Address::Tcp { host: host.to_owned(), port })
    }

    /// The URI by which clients reach an export of this name.
    pub fn uri(&self, export: &str) -> String {
        let export = escaped(export);
        match self {
            Address::Unix(path) => {
                format!("nbd+unix:///{export}?socket={}", escaped(&path.to_string_lossy()))
            }
            Address::Tcp { host, port } if host.contains(':') => format!("nbd://[{host}]:{port}/{export}"),
            Address::Tcp { host, port } => format!("nbd://{host}:{port}/{export}"),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => path.display().fmt(f),
            Address::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Address::Tcp { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uri {
    pub address: Address,
    /// Empty: the server's default.
    pub export: String,
}

impl Uri {
    pub fn parse(text: &str) -> io::Result<Uri> {
        let wrong = |what: &str| {
            invalid(format!("'{text}': {what}; write nbd://HOST:PORT/NAME or nbd+unix:///NAME?socket=PATH"))
        };
        let (scheme, rest) = text.split_once("://").ok_or_else(|| wrong("not a URI"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (host, export) = rest.split_once('/').unwrap_or((rest, ""));
        let export = unescaped(export).ok_or_else(|| wrong("the export's name is not UTF-8"))?;
        let address = match scheme {
            "nbd" if host.is_empty() => return Err(wrong("no host is named")),
            "nbd" => {
                let named = host.contains(':') && !host.ends_with(']');
                let place = if named { host.to_owned() } else { format!("{host}:{PORT}") };
                Address::tcp(&place).map_err(|_| wrong("no host and port stand there"))?
            }
            "nbd+unix" => {
                let socket = query.split('&').find_map(|part| part.strip_prefix("socket="));
                let path = socket.and_then(unescaped).filter(|path| !path.is_empty());
                Address::Unix(PathBuf::from(path.ok_or_else(|| wrong("no socket is named"))?))
            }
            "nbds" | "nbds+unix" => return Err(wrong("TLS is not spoken")),
            _ => return Err(wrong("this scheme is not known")),
        };
        Ok(Uri { address, export })
    }
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

/// Escapes everything but letters, digits and `-._~/` with percent signs.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, tail) = rest.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = tail;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_says_what_it_was_made_from() {
        let unix = Address::Unix(PathBuf::from("/run/a b/drive.sock"));
        assert_eq!(unix.uri("x/ü"), "nbd+unix:///x/%C3%BC?socket=/run/a%20b/drive.sock");
        for (address, export) in [
            (unix, "x/ü"),
            (Address::tcp("127.0.0.1:99").unwrap(), ""),
            (Address::tcp("[::1]:7").unwrap(), "a"),
        ] {
            let uri = Uri::parse(&address.uri(export)).unwrap();
            assert_eq!(uri, Uri { address, export: export.to_owned() });
        }
        assert_eq!(Uri::parse("nbd://localhost").unwrap().address, Address::tcp("localhost:10809").unwrap());
        assert_eq!(Uri::parse("nbd://[::1]/e").unwrap().address, Address::tcp("[::1]:10809").unwrap());
    }

    #[test]
    fn what_is_no_uri_is_refused_by_name() {
        for text in [
            "",
            "file",
            "http://a/",
            "nbd:///x",
            "nbd+unix:///",
            "nbds://a",
            "nbd://a:b",
            "nbd+unix:///?socket=%z",
        ] {
            let message = Uri::parse(text).unwrap_err().to_string();
            assert!(message.contains(text), "{message}");
        }
        assert!(
            Address::tcp("10809").is_err() && Address::tcp(":1").is_err() && Address::tcp("a:70000").is_err()
        );
    }
}
