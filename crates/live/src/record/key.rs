//! The key of a recording's digests. It is never in the trace, because its holder can test a page for a given content.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

pub(crate) type Digest = [u8; 16];

pub(crate) const PAGE_BYTES: usize = flashtwin_trace::CHUNK_BYTES as usize;

#[derive(Clone)]
pub struct Key([u8; 32]);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(secret)")
    }
}

impl Key {
    pub fn random() -> io::Result<Key> {
        let mut bytes = [0; 32];
        fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Key(bytes))
    }

    pub fn new(bytes: [u8; 32]) -> Key {
        Key(bytes)
    }

    /// Reads 64 hex digits from a file. One that is not there is made, for its owner alone.
    pub fn in_file(path: &Path) -> io::Result<Key> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        match fs::read_to_string(path) {
            Ok(text) => Key::from_hex(text.trim()).ok_or_else(|| {
                named(io::Error::new(io::ErrorKind::InvalidData, "a key of 64 hex digits was expected"))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let key = Key::random()?;
                let text: String = key.0.iter().map(|byte| format!("{byte:02x}")).collect();
                let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
                file.and_then(|mut file| file.write_all(format!("{text}\n").as_bytes())).map_err(named)?;
                Ok(key)
            }
            Err(error) => Err(named(error)),
        }
    }

    fn from_hex(text: &str) -> Option<Key> {
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
        }
        Some(Key(bytes))
    }

    pub(crate) fn digest(&self, bytes: &[u8]) -> Digest {
        let hash = blake3::keyed_hash(&self.0, bytes);
        let mut digest = [0; 16];
        digest.copy_from_slice(&hash.as_bytes()[..16]);
        digest
    }

    pub(crate) fn zero_digest(&self) -> Digest {
        self.digest(&[0; PAGE_BYTES])
    }
}

pub(crate) fn hex(digest: &Digest) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn digests_are_keyed_blake3() {
        // From the test vectors of BLAKE3: the key is this text, the input 0, 1, 2, ..., the output begins so.
        let key = Key::new(*b"whats the Elvish word for friend");
        assert_eq!(hex(&key.digest(&[])), "92b2b75604ed3c761f9d6f62392c8a92");
        assert_eq!(hex(&key.digest(&[0])), "6d7878dfff2f485635d39013278ae14f");
        assert_ne!(
            key.digest(&[0; 512]),
            key.digest(&[0; 4096]),
            "a shorter page of zeroes is another content"
        );
        assert_eq!(format!("{key:?}"), "Key(secret)");
    }

    #[test]
    fn a_key_file_is_made_once_and_for_its_owner() {
        let path = std::env::temp_dir().join(format!("ft-key-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        let made = Key::in_file(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(Key::in_file(&path).unwrap().0, made.0);
        fs::write(&path, "secret").unwrap();
        assert!(Key::in_file(&path).unwrap_err().to_string().contains("64 hex digits"));
        fs::remove_file(&path).unwrap();
    }
}
