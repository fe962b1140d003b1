//! A cache of pages that were read, in controller DRAM between the mapping and the flash. A content that the
//! fingerprint store has is one entry for all of its logical pages, and so is a list of duplicate pages. Only reads fill
//! it: a write or a trim makes the page's own entry out of date.
//!
//! A request's pages are entered, or become the most recent ones, in order and when it is answered: data that the flash
//! has not sent yet can be given to nobody, and the order does not depend on which of them were hits.

use std::collections::VecDeque;

use flashtwin_ftl::{Content, DataName, Lpn};
use hashbrown::HashMap;

use crate::config::EngineConfig;

/// The data of one time: a page's number stays when it is written again, a content's when it is given to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Version {
    data: DataName,
    version: u32,
}

#[derive(Debug, Clone)]
pub(super) struct ReadCache {
    capacity: usize,
    /// With the number of their latest use.
    held: HashMap<Version, u64>,
    /// Uses, oldest first. An entry has its place by the last of its own; the others are left over.
    uses: VecDeque<(u64, Version)>,
    used: u64,
    /// What each request under way has asked for.
    asked: HashMap<u32, Vec<Version>>,
    page_versions: HashMap<Lpn, u32>,
    content_versions: HashMap<Content, u32>,
}

impl ReadCache {
    pub(super) fn of(config: &EngineConfig) -> Option<Box<Self>> {
        let capacity = config.read_cache_pages as usize;
        (capacity > 0).then(|| {
            Box::new(Self {
                capacity,
                held: HashMap::new(),
                uses: VecDeque::new(),
                used: 0,
                asked: HashMap::new(),
                page_versions: HashMap::new(),
                content_versions: HashMap::new(),
            })
        })
    }

    fn version_of(&self, data: DataName) -> Version {
        let version = match data {
            DataName::Page(lpn) => self.page_versions.get(&lpn),
            DataName::Content(content) => self.content_versions.get(&content),
            DataName::Twins(_) => None,
        };
        Version { data, version: version.copied().unwrap_or(0) }
    }

    /// Whether a read of a request finds its data here.
    pub(super) fn read(&mut self, data: DataName, request: u32) -> bool {
        let version = self.version_of(data);
        self.asked.entry(request).or_default().push(version);
        self.held.contains_key(&version)
    }

    pub(super) fn answered(&mut self, request: u32) {
        for version in self.asked.remove(&request).unwrap_or_default() {
            if self.version_of(version.data) == version {
                self.use_now(version);
            }
        }
    }

    fn use_now(&mut self, version: Version) {
        self.used += 1;
        self.held.insert(version, self.used);
        self.uses.push_back((self.used, version));
        while self.held.len() > self.capacity {
            let Some((used, oldest)) = self.uses.pop_front() else { return };
            if self.held.get(&oldest) == Some(&used) {
                self.held.remove(&oldest);
            }
        }
        // Half of the list at least goes, so a use costs the same on average whatever is read.
        if self.uses.len() > 2 * self.held.len() + 64 {
            self.uses.retain(|(used, version)| self.held.get(version) == Some(used));
        }
    }

    pub(super) fn page_changed(&mut self, lpn: Lpn) {
        let Version { data, version } = self.version_of(DataName::Page(lpn));
        self.held.remove(&Version { data, version });
        self.page_versions.insert(lpn, version.wrapping_add(1));
    }

    /// Its number is another content's from now on. Its entries leave by their age.
    pub(super) fn forget_content(&mut self, content: Content) {
        *self.content_versions.entry(content).or_default() += 1;
    }
}
