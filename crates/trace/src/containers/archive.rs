//! An archive with one file is that file. One with several is refused with their names.

use std::io::{self, Read};

use super::{Origin, Reader};
use crate::error::{ErrorCause, TraceError};

pub(super) trait Archive: Read + Send + 'static {
    /// Goes to the next file, whose bytes `read` then gives; its name. The one before has been read to its end.
    fn next(&mut self) -> io::Result<Option<String>>;
}

/// Names that a message lists.
const LISTED: usize = 10;
/// Bytes of further files that are read for their names.
const PASSED_BYTES_MAX: u64 = 256 << 20;

struct OneFile<A> {
    archive: A,
    first: String,
    ended: bool,
    /// The archive as messages call it.
    input: String,
    /// The command that writes MEMBER of FILE to standard output, and the one that lists FILE.
    commands: [&'static str; 2],
}

/// The one file of an archive, by the commands that extract from FILE and list it.
pub(super) fn one_file(
    mut archive: impl Archive,
    origin: &Origin,
    commands: [&'static str; 2],
) -> io::Result<Reader> {
    let Some(first) = next_file(&mut archive)? else {
        let what = "there is no file in the archive";
        let cure = format!("look into it: {}", commands[1].replace("FILE", &origin.name));
        return Err(io::Error::other(TraceError::new(ErrorCause::Empty, &origin.name, what, cure)));
    };
    let file = OneFile { archive, first, ended: false, input: origin.name.clone(), commands };
    Ok(Box::new(io::BufReader::new(file)))
}

/// The next file, but for those that macOS adds to archives.
fn next_file(archive: &mut impl Archive) -> io::Result<Option<String>> {
    while let Some(name) = archive.next()? {
        let base = name.rsplit('/').next().unwrap_or_default();
        if !base.starts_with("._") && !name.starts_with("__MACOSX/") {
            return Ok(Some(name));
        }
        io::copy(archive, &mut io::sink())?;
    }
    Ok(None)
}

impl<A: Archive> Read for OneFile<A> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ended || buffer.is_empty() {
            return Ok(0);
        }
        let read = self.archive.read(buffer)?;
        if read == 0 {
            self.ended = true;
            if let Some(second) = next_file(&mut self.archive)? {
                return Err(self.several(second));
            }
        }
        Ok(read)
    }
}

impl<A: Archive> OneFile<A> {
    #[cold]
    fn several(&mut self, second: String) -> io::Error {
        let mut names = vec![self.first.clone(), second];
        let mut passed = 0;
        while passed < PASSED_BYTES_MAX && names.len() < LISTED {
            match io::copy(&mut (&mut self.archive).take(PASSED_BYTES_MAX - passed), &mut io::sink()) {
                Ok(bytes) => passed += bytes,
                Err(_) => break,
            }
            match next_file(&mut self.archive) {
                Ok(Some(name)) => names.push(name),
                _ => break,
            }
        }
        let shown: Vec<String> = names.iter().map(|name| name.escape_debug().to_string()).collect();
        let [extract, list] = self.commands.map(|command| command.replace("FILE", &self.input));
        let what = format!("this archive has several files, one trace was expected: {}", shown.join(", "));
        let cure = format!(
            "read one of them: {} | flashtwin trace info - ({list} lists all)",
            extract.replace("MEMBER", &shown[0])
        );
        io::Error::other(TraceError::new(ErrorCause::UnknownFormat, &self.input, what, cure))
    }
}
