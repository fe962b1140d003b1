//! Files under a temporary name until they are complete, and the clean-up after killed processes.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use crate::error::{ErrorCause, TraceError};

const ENDING: &str = ".part";
const ATTEMPTS: u32 = 100;

/// A file under a temporary name, removed unless it is finished. A lock tells it from a killed process's file.
pub(super) struct Temporary {
    path: PathBuf,
    wanted: PathBuf,
    finished: bool,
    /// Keeps the lock when the writer has closed the file.
    _locked: File,
}

impl Temporary {
    /// Begins a file beside the wanted one, and removes the temporary files of it that killed processes left.
    pub(super) fn beside(wanted: &Path) -> Result<(Temporary, File), TraceError> {
        remove_left_over(wanted);
        for attempt in 0..ATTEMPTS {
            let path = name(wanted, attempt);
            let file = match File::options().write(true).create_new(true).open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(cannot_write(wanted, &error)),
            };
            // Somebody may have found the file before it was locked, and removed it.
            if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) || !is_at(&file, &path) {
                continue;
            }
            let locked = file.try_clone().map_err(|error| cannot_write(wanted, &error))?;
            let temporary = Temporary { path, wanted: wanted.to_owned(), finished: false, _locked: locked };
            return Ok((temporary, file));
        }
        Err(cannot_write(wanted, &"too many others are writing it"))
    }

    /// Gives the file its name, in one step: at any time there is either the old file or the new one.
    pub(super) fn finish(mut self) -> Result<(), TraceError> {
        std::fs::rename(&self.path, &self.wanted).map_err(|e| cannot_write(&self.wanted, &e))?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.finished {
            // Nothing more can be done about a file that cannot be removed.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// `.NAME.PROCESS.part`, where that is taken `.NAME.PROCESS-ATTEMPT.part`.
fn name(wanted: &Path, attempt: u32) -> PathBuf {
    let name = wanted.file_name().unwrap_or_default().to_string_lossy();
    let attempt = if attempt == 0 { String::new() } else { format!("-{attempt}") };
    wanted.with_file_name(format!(".{name}.{}{attempt}{ENDING}", std::process::id()))
}

/// Removes the temporary files of an output that are not locked. A file that cannot be examined stays.
fn remove_left_over(wanted: &Path) {
    let begin = format!(".{}.", wanted.file_name().unwrap_or_default().to_string_lossy());
    let folder = wanted.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(&begin).and_then(|rest| rest.strip_suffix(ENDING));
        if !process.is_some_and(|process| process.bytes().all(|sign| sign.is_ascii_digit() || sign == b'-')) {
            continue;
        }
        let path = entry.path();
        let Ok(file) = File::options().write(true).open(&path) else { continue };
        // Its writer may have finished it meanwhile, and another file may have that name now.
        if file.try_lock().is_ok() && is_at(&file, &path) {
            let _ = std::fs::remove_file(&path);
        }
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let files = (file.metadata(), std::fs::metadata(path));
    matches!(files, (Ok(a), Ok(b)) if (a.dev(), a.ino()) == (b.dev(), b.ino()))
}

#[cfg(not(unix))]
fn is_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

pub(super) fn cannot_write(path: &Path, why: &dyn std::fmt::Display) -> TraceError {
    TraceError::new(
        ErrorCause::Io,
        path.display().to_string(),
        format!("cannot write ({why})"),
        "choose a folder that exists and is writable, with space left",
    )
}
