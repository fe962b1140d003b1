//! The handshake as a server speaks it: fixed newstyle, until a client has chosen the export or gone away.

use std::io::{self, Read, Write};
use std::time::Instant;

use super::offer::Offer;
use super::socket::Stream;
use super::tls::Secure;
use super::wire::{self, Numbers, answer, can, info, option};

const OPTION_BYTES_MAX: u32 = 64 * 1024;
const OPTIONS_MAX: usize = 256;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Agreed {
    pub(crate) structured: bool,
    pub(crate) allocation: bool,
}

/// A stream whose reads and writes fail after a deadline.
struct Timed<'a> {
    stream: &'a Stream,
    secure: Option<Secure>,
    deadline: Instant,
}

impl Timed<'_> {
    fn before_deadline(&self) -> io::Result<&Stream> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let stream = self.secure.as_ref().map_or(self.stream, Secure::stream);
        stream.set_patience(Some(left))?;
        Ok(stream)
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.before_deadline()?.read(into)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.before_deadline()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// `None` if the client left. An encrypted stream replaces the plain one. Fails on a breach of protocol or a timeout.
pub(crate) fn negotiate(stream: &Stream, offer: &Offer<'_>) -> io::Result<Option<(Agreed, Option<Secure>)>> {
    let mut talk = Talk {
        stream: Timed { stream, secure: None, deadline: Instant::now() + offer.options.handshake },
        offer,
        agreed: Agreed::default(),
        no_zeroes: false,
    };
    let Some(agreed) = talk.run()? else { return Ok(None) };
    let secure = talk.stream.secure;
    secure.as_ref().map_or(stream, Secure::stream).set_patience(Some(offer.options.stalled))?;
    Ok(Some((agreed, secure)))
}

struct Talk<'a> {
    stream: Timed<'a>,
    offer: &'a Offer<'a>,
    agreed: Agreed,
    no_zeroes: bool,
}

enum Next {
    Option,
    Transmission,
    Nothing,
}

impl Talk<'_> {
    fn run(&mut self) -> io::Result<Option<Agreed>> {
        let flags = (wire::FIXED_NEWSTYLE | wire::NO_ZEROES) as u16;
        let magic = [wire::GREETING, wire::OPTION].map(u64::to_be_bytes).concat();
        self.stream.write_all(&[&magic[..], &flags.to_be_bytes()].concat())?;
        let mut flags = [0; 4];
        self.stream.read_exact(&mut flags)?;
        let flags = u32::from_be_bytes(flags);
        if flags & wire::FIXED_NEWSTYLE == 0 || flags & !(wire::FIXED_NEWSTYLE | wire::NO_ZEROES) != 0 {
            return Err(nonsense("flags that are not known"));
        }
        self.no_zeroes = flags & wire::NO_ZEROES != 0;
        for _ in 0..OPTIONS_MAX {
            match self.option()? {
                Next::Option => {}
                Next::Transmission => return Ok(Some(self.agreed)),
                Next::Nothing => return Ok(None),
            }
        }
        Err(nonsense("options without end"))
    }

    fn option(&mut self) -> io::Result<Next> {
        let mut head = [0; 16];
        self.stream.read_exact(&mut head)?;
        let mut head = Numbers(&head);
        let (Some(wire::OPTION), Some(kind), Some(length)) = (head.u64(), head.u32(), head.u32()) else {
            return Err(nonsense("no option"));
        };
        if length > OPTION_BYTES_MAX {
            return Err(nonsense("an option of many bytes"));
        }
        // Grows as bytes come, not as they are promised.
        let mut data = Vec::new();
        (&mut self.stream).take(u64::from(length)).read_to_end(&mut data)?;
        if data.len() < length as usize {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let must_be_encrypted = self.offer.options.tls.is_some() && self.stream.secure.is_none();
        match kind {
            option::STARTTLS => self.start_tls(&data),
            // This option has no error reply.
            option::EXPORT_NAME if must_be_encrypted => Err(nonsense("the name of an export without TLS")),
            option::EXPORT_NAME => self.export_name(&data),
            option::ABORT => {
                // The client may not wait for the answer.
                let _ = self.reply(kind, answer::ACK, &[]);
                Ok(Next::Nothing)
            }
            _ if must_be_encrypted => self.refuse(kind, answer::TLS_REQUIRED, "ask for TLS first"),
            option::LIST => self.list(&data),
            option::INFO | option::GO => self.info(kind, &data),
            option::STRUCTURED_REPLY => self.structured_reply(&data),
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.contexts(kind, &data),
            _ => self.refuse(kind, answer::UNSUPPORTED, "this option is not known"),
        }
    }

    fn reply(&mut self, option: u32, kind: u32, data: &[u8]) -> io::Result<()> {
        let numbers = [option, kind, data.len() as u32].map(u32::to_be_bytes).concat();
        self.stream.write_all(&[&wire::OPTION_REPLY.to_be_bytes(), &numbers[..], data].concat())
    }

    fn refuse(&mut self, option: u32, error: u32, why: &str) -> io::Result<Next> {
        self.reply(option, error, why.as_bytes())?;
        Ok(Next::Option)
    }

    fn accept(&mut self, option: u32) -> io::Result<Next> {
        self.reply(option, answer::ACK, &[])?;
        Ok(Next::Option)
    }

    fn is_ours(&self, name: &str) -> bool {
        name.is_empty() || name == self.offer.options.name
    }

    fn size_and_flags(&self) -> [u8; 10] {
        let always = can::HAS_FLAGS | can::FLUSH | can::FUA | can::TRIM | can::WRITE_ZEROES | can::MULTI_CONN;
        let structured = if self.agreed.structured { can::DF } else { 0 };
        let read_only = if self.offer.read_only { can::READ_ONLY } else { 0 };
        let flags = always | can::FAST_ZERO | structured | read_only;
        let mut bytes = [0; 10];
        bytes[..8].copy_from_slice(&self.offer.export.size_bytes().to_be_bytes());
        bytes[8..].copy_from_slice(&flags.to_be_bytes());
        bytes
    }

    /// The oldest way to choose an export, which has no answer for a wrong name.
    fn export_name(&mut self, data: &[u8]) -> io::Result<Next> {
        if !std::str::from_utf8(data).is_ok_and(|name| self.is_ours(name)) {
            return Err(nonsense("the name of another export"));
        }
        let mut bytes = self.size_and_flags().to_vec();
        if !self.no_zeroes {
            bytes.resize(bytes.len() + 124, 0);
        }
        self.stream.write_all(&bytes)?;
        Ok(Next::Transmission)
    }

    fn list(&mut self, data: &[u8]) -> io::Result<Next> {
        if !data.is_empty() {
            return self.refuse(option::LIST, answer::INVALID, "a list is asked for without data");
        }
        let name = self.offer.options.name.as_bytes();
        let mut entry = (name.len() as u32).to_be_bytes().to_vec();
        entry.extend(name);
        entry.extend(self.offer.options.description.as_bytes());
        self.reply(option::LIST, answer::SERVER, &entry)?;
        self.accept(option::LIST)
    }

    fn info(&mut self, kind: u32, data: &[u8]) -> io::Result<Next> {
        let Some((name, wanted)) = info_request(data) else {
            return self.refuse(kind, answer::INVALID, "a name and a list of items were expected");
        };
        if !self.is_ours(name) {
            return self.refuse(kind, answer::UNKNOWN, "there is no export of this name");
        }
        let mut item = info::EXPORT.to_be_bytes().to_vec();
        item.extend(self.size_and_flags());
        self.reply(kind, answer::INFO, &item)?;
        let mut sizes = info::BLOCK_SIZE.to_be_bytes().to_vec();
        for bytes in [1, self.offer.export.preferred_block_bytes(), self.offer.options.request_bytes_max] {
            sizes.extend(bytes.to_be_bytes());
        }
        self.reply(kind, answer::INFO, &sizes)?;
        for (number, text) in
            [(info::NAME, &self.offer.options.name), (info::DESCRIPTION, &self.offer.options.description)]
        {
            if wanted.contains(&number) {
                let item = [&number.to_be_bytes(), text.as_bytes()].concat();
                self.reply(kind, answer::INFO, &item)?;
            }
        }
        self.accept(kind)?;
        Ok(if kind == option::GO { Next::Transmission } else { Next::Option })
    }

    fn start_tls(&mut self, data: &[u8]) -> io::Result<Next> {
        let Some(tls) = &self.offer.options.tls else {
            return self.refuse(option::STARTTLS, answer::UNSUPPORTED, "there is no TLS here");
        };
        if !data.is_empty() || self.stream.secure.is_some() {
            return self.refuse(option::STARTTLS, answer::INVALID, "TLS is asked for once, without data");
        }
        self.accept(option::STARTTLS)?;
        let stream = self.stream.stream;
        self.stream.secure = Some(tls.upgrade(&mut self.stream, stream)?);
        // Plain-text negotiation is void under TLS.
        self.agreed = Agreed::default();
        Ok(Next::Option)
    }

    fn structured_reply(&mut self, data: &[u8]) -> io::Result<Next> {
        if !data.is_empty() {
            return self.refuse(option::STRUCTURED_REPLY, answer::INVALID, "this option has no data");
        }
        self.agreed.structured = true;
        self.accept(option::STRUCTURED_REPLY)
    }

    fn contexts(&mut self, kind: u32, data: &[u8]) -> io::Result<Next> {
        let setting = kind == option::SET_META_CONTEXT;
        if setting {
            // A repeated request cancels the earlier one, even if it fails.
            self.agreed.allocation = false;
        }
        if !self.agreed.structured {
            return self.refuse(kind, answer::INVALID, "structured replies must be agreed on first");
        }
        let Some((name, queries)) = context_request(data) else {
            return self.refuse(kind, answer::INVALID, "a name and a list of queries were expected");
        };
        if !self.is_ours(name) {
            return self.refuse(kind, answer::UNKNOWN, "there is no export of this name");
        }
        let everything = queries.is_empty() && !setting;
        let wanted = |query: &&str| *query == wire::ALLOCATION || (!setting && *query == "base:");
        if everything || queries.iter().any(wanted) {
            let id = if setting { wire::ALLOCATION_ID } else { 0 };
            let item = [&id.to_be_bytes(), wire::ALLOCATION.as_bytes()].concat();
            self.reply(kind, answer::META_CONTEXT, &item)?;
            self.agreed.allocation |= setting;
        }
        self.accept(kind)
    }
}

fn info_request(data: &[u8]) -> Option<(&str, Vec<u16>)> {
    let mut at = Numbers(data);
    let name = at.text()?;
    let count = at.u16()?;
    let wanted = (0..count).map(|_| at.u16()).collect::<Option<_>>()?;
    at.0.is_empty().then_some((name, wanted))
}

fn context_request(data: &[u8]) -> Option<(&str, Vec<&str>)> {
    let mut at = Numbers(data);
    let name = at.text()?;
    let count = at.u32()?;
    // An option has no room for more queries than it has bytes.
    let queries = (0..count).map(|_| at.text()).collect::<Option<_>>()?;
    at.0.is_empty().then_some((name, queries))
}

fn nonsense(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the client sent {what}"))
}
