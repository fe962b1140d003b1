//! Digests by which contents of several traces are compared.

use std::borrow::Cow;

use twox_hash::XxHash3_128;

use crate::digest::{Digests, digests_of_zeroes};
use crate::trace::Trace;

impl Trace {
    /// A digest for every content, by which contents of different traces can be compared: the recorded one. Known
    /// zeroes have the MD5 of zeroes, whatever hash and key they were recorded with. Numbers without digests mean
    /// nothing outside their trace, so their digests are made of the trace's own digest and the number.
    pub fn content_digests(&self) -> Cow<'_, Digests> {
        let mut digests = Cow::Borrowed(&self.digests);
        if self.digests.is_empty() && self.has_content() {
            let own = self.digest();
            let made = (0..self.content_count()).map(|id| digest_of_number(&own, id));
            digests = Cow::Owned(Digests::new(made.collect()));
        }
        let zero = self.zero_content.and_then(|zero| digests.get(zero).map(|&known| (zero as usize, known)));
        if let (Some((zero, known)), Some(md5)) = (zero, digests_of_zeroes().next())
            && known != md5
        {
            digests.to_mut().bytes[zero] = md5;
        }
        digests
    }
}

/// The digest of a content that has only a number, in the trace of this digest.
pub(crate) fn digest_of_number(trace: &str, id: u32) -> [u8; 16] {
    XxHash3_128::oneshot(&[trace.as_bytes(), &id.to_le_bytes()].concat()).to_be_bytes()
}
