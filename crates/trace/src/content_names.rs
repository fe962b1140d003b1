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
            let digest = |id: u32| XxHash3_128::oneshot(&[own.as_bytes(), &id.to_le_bytes()].concat());
            let made = (0..self.content_count()).map(|id| digest(id).to_be_bytes());
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
