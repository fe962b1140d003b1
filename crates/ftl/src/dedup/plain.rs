//! A limited fingerprint store as plain lists and sums without bounds, for tests to compare with.

pub(crate) struct PlainStore<K> {
    capacity: usize,
    /// Entries that cannot be evicted: half of them by reference count, all of them by recency.
    most_recent: usize,
    /// Entry and its references, the last written last.
    recent: Vec<(K, u64)>,
    /// Entry, its references and its worth, the last that came to its worth last.
    kept: Vec<(K, u64, u64)>,
    age: u64,
}

impl<K: Copy + Eq> PlainStore<K> {
    pub(crate) fn new(capacity: usize, by_count: bool) -> Self {
        let most_recent = if by_count { capacity.div_ceil(2) } else { capacity };
        Self { capacity, most_recent, recent: Vec::new(), kept: Vec::new(), age: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.recent.len() + self.kept.len()
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = K> {
        self.recent.iter().map(|entry| entry.0).chain(self.kept.iter().map(|entry| entry.0))
    }

    pub(crate) fn knows(&self, key: K) -> bool {
        self.entries().any(|known| known == key)
    }

    pub(crate) fn enter(&mut self, key: K) -> Option<K> {
        let full = self.len() == self.capacity;
        let gone = if full { Some(self.give_way()) } else { None };
        self.renew(key, 1);
        gone
    }

    fn give_way(&mut self) -> K {
        let Some(least) = self.kept.iter().map(|entry| entry.2).min() else { return self.recent.remove(0).0 };
        self.age = least;
        let at = self.kept.iter().position(|entry| entry.2 == least).unwrap();
        self.kept.remove(at).0
    }

    fn renew(&mut self, key: K, references: u64) {
        self.recent.push((key, references));
        if self.recent.len() > self.most_recent {
            let (last, references) = self.recent.remove(0);
            self.kept.push((last, references, self.age + references));
        }
    }

    pub(crate) fn remove(&mut self, key: K) -> u64 {
        let references = self.recent.iter().map(|entry| (entry.0, entry.1));
        let kept = self.kept.iter().map(|entry| (entry.0, entry.1));
        let found = references.chain(kept).find(|entry| entry.0 == key).unwrap().1;
        self.recent.retain(|entry| entry.0 != key);
        self.kept.retain(|entry| entry.0 != key);
        found
    }

    pub(crate) fn written(&mut self, key: K) {
        let references = self.remove(key);
        self.renew(key, references);
    }

    /// An entry's references have changed; numbers beyond 254 count as 254.
    pub(crate) fn recounted(&mut self, key: K, references: usize) {
        let now = references.min(254) as u64;
        if let Some(entry) = self.recent.iter_mut().find(|entry| entry.0 == key) {
            entry.1 = now;
            return;
        }
        let at = self.kept.iter().position(|entry| entry.0 == key).unwrap();
        let (_, before, worth) = self.kept[at];
        if now != before {
            self.kept.remove(at);
            self.kept.push((key, now, (worth + now - before).max(self.age)));
        }
    }
}
