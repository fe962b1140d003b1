//! Contents of logical pages: digests as dense numbers, by which the controller knows contents.
//!
//! A content that no logical page holds keeps its number until another needs it, so that it is known if it returns.
//! The one that died first goes first. Memory: 12 bytes a logical page, 28 a content, up to 9 for its index entry.

use std::collections::VecDeque;

use flashtwin_ftl::Content;
use hashbrown::HashTable;

use crate::store::record::Digest;

const NONE: u32 = u32::MAX;

pub(crate) struct Contents {
    digests: Vec<Digest>,
    /// The logical page that got each content last; the others follow.
    heads: Vec<u32>,
    deaths: Vec<u32>,
    /// By logical page.
    held: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    index: HashTable<u32>,
    /// Contents that died, and for which time.
    dead: VecDeque<(u32, u32)>,
    limit: u32,
    live: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) content: Content,
    /// It was another content's, which the controller is to forget.
    pub(crate) reused: bool,
}

fn hash(digest: &Digest) -> u64 {
    digest[8..].iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

impl Contents {
    /// For `logical_pages` pages; numbers are below `limit`, which must exceed the number of pages.
    pub(crate) fn new(logical_pages: u32, limit: u32) -> Self {
        let pages = logical_pages as usize;
        Self {
            digests: Vec::new(),
            heads: Vec::new(),
            deaths: Vec::new(),
            held: vec![NONE; pages],
            next: vec![NONE; pages],
            previous: vec![NONE; pages],
            index: HashTable::new(),
            dead: VecDeque::new(),
            limit,
            live: 0,
        }
    }

    /// The number of the content with a digest, a new one if there is none; `None` when none is left.
    pub(crate) fn name(&mut self, digest: &Digest) -> Option<Named> {
        let found = self.index.find(hash(digest), |&content| self.digests[content as usize] == *digest);
        if let Some(&content) = found {
            return Some(Named { content: Content::new(content), reused: false });
        }
        let named = self.number(digest)?;
        let digests = &self.digests;
        self.index
            .insert_unique(hash(digest), named.content.number(), |&content| hash(&digests[content as usize]));
        Some(named)
    }

    fn number(&mut self, digest: &Digest) -> Option<Named> {
        if (self.digests.len() as u32) < self.limit {
            self.digests.push(*digest);
            self.heads.push(NONE);
            self.deaths.push(0);
            return Some(Named { content: Content::new(self.digests.len() as u32 - 1), reused: false });
        }
        let content = std::iter::from_fn(|| self.dead.pop_front()).find_map(|(content, death)| {
            let at = content as usize;
            (self.heads[at] == NONE && self.deaths[at] == death).then_some(content)
        })?;
        let old = std::mem::replace(&mut self.digests[content as usize], *digest);
        if let Ok(entry) = self.index.find_entry(hash(&old), |&other| other == content) {
            entry.remove();
        }
        // Should its new user not be written after all, it can be used again.
        self.dead.push_back((content, self.deaths[content as usize]));
        Some(Named { content: Content::new(content), reused: true })
    }

    pub(crate) fn holder(&self, content: Content) -> Option<u32> {
        Some(self.heads[content.index()]).filter(|&lpn| lpn != NONE)
    }

    pub(crate) fn of(&self, lpn: u32) -> Option<Content> {
        Some(self.held[lpn as usize]).filter(|&content| content != NONE).map(Content::new)
    }

    pub(crate) fn digest(&self, content: Content) -> Digest {
        self.digests[content.index()]
    }

    pub(crate) fn hold(&mut self, lpn: u32, content: Option<Content>) {
        let at = lpn as usize;
        let new = content.map_or(NONE, Content::number);
        let old = std::mem::replace(&mut self.held[at], new);
        if old == new {
            return;
        }
        if old != NONE {
            self.unlink(lpn, old);
        }
        if new != NONE {
            let first = std::mem::replace(&mut self.heads[new as usize], lpn);
            self.live += u32::from(first == NONE);
            (self.next[at], self.previous[at]) = (first, NONE);
            if first != NONE {
                self.previous[first as usize] = lpn;
            }
        }
    }

    fn unlink(&mut self, lpn: u32, content: u32) {
        let (next, previous) = (self.next[lpn as usize], self.previous[lpn as usize]);
        match previous {
            NONE => self.heads[content as usize] = next,
            previous => self.next[previous as usize] = next,
        }
        if next != NONE {
            self.previous[next as usize] = previous;
        }
        if self.heads[content as usize] == NONE {
            self.live -= 1;
            let deaths = &mut self.deaths[content as usize];
            *deaths = deaths.wrapping_add(1);
            self.dead.push_back((content, *deaths));
            self.forget_revived();
        }
    }

    fn forget_revived(&mut self) {
        if self.dead.len() <= 2 * self.digests.len() + 64 {
            return;
        }
        let (heads, deaths) = (&self.heads, &self.deaths);
        self.dead
            .retain(|&(content, death)| heads[content as usize] == NONE && deaths[content as usize] == death);
    }

    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    pub(crate) fn bytes(&self) -> u64 {
        let index = self.index.capacity() * 8 / 7 * 5;
        (self.held.len() * 12 + self.digests.capacity() * 24 + self.dead.capacity() * 8 + index) as u64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use flashtwin_bits::SplitMix64;

    use super::*;

    #[test]
    fn no_two_contents_that_are_held_share_a_number() {
        let mut random = SplitMix64(3);
        let mut contents = Contents::new(8, 10);
        let mut held: HashMap<u32, u64> = HashMap::new();
        for step in 0..20_000 {
            let (lpn, value) = (random.next() as u32 % 8, random.next() % 40);
            let mut digest = [0; 16];
            digest[..8].copy_from_slice(&value.to_le_bytes());
            digest[15] = value as u8;
            if step % 7 == 0 {
                contents.hold(lpn, None);
                held.remove(&lpn);
                continue;
            }
            let named = contents.name(&digest).expect("more numbers than pages");
            assert_eq!(contents.digest(named.content), digest);
            let holder = contents.holder(named.content);
            assert_eq!(holder.is_some(), held.values().any(|&other| other == value));
            assert!(!(named.reused && holder.is_some()));
            contents.hold(lpn, Some(named.content));
            held.insert(lpn, value);
            for (&lpn, value) in &held {
                let content = contents.of(lpn).expect("held");
                assert_eq!(contents.digest(content)[..8], value.to_le_bytes());
            }
            let mut distinct: Vec<u64> = held.values().copied().collect();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(contents.live() as usize, distinct.len());
        }
    }
}
