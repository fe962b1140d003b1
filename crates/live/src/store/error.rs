//! Errors of an image, in words for the person who can repair it.

use std::io;

use thiserror::Error;

/// A drive that cannot be made or opened: fault, place and cure.
#[derive(Debug, Error)]
pub enum DriveError {
    #[error("{0}")]
    Config(String),
    #[error("{place}: {cause}")]
    Medium { place: String, cause: io::Error },
    #[error("{place}: {text}")]
    Image { place: String, text: String },
}

impl DriveError {
    pub(crate) fn image(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Image { place: place.into(), text: text.into() }
    }

    pub(crate) fn medium(place: &str) -> impl Fn(io::Error) -> Self + '_ {
        move |cause| Self::Medium { place: place.to_owned(), cause }
    }
}

impl From<DriveError> for io::Error {
    fn from(error: DriveError) -> Self {
        let kind = match &error {
            DriveError::Config(_) => io::ErrorKind::InvalidInput,
            DriveError::Medium { cause, .. } => cause.kind(),
            DriveError::Image { .. } => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    }
}
