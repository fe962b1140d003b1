//! Places for temporary files.

use std::path::PathBuf;

/// A file of this process and thread for what is read by its path.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let thread = format!("{:?}", std::thread::current().id());
    let number: String = thread.chars().filter(char::is_ascii_digit).collect();
    std::env::temp_dir().join(format!("flashtwin-fuzz-{}-{number}-{name}", std::process::id()))
}
