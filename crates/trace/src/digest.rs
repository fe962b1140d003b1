//! Digests of contents, and the digest of a trace.

use twox_hash::XxHash3_128;

use crate::flags;
use crate::holes::Holes;
use crate::request::NO_STREAM;
use crate::requests::Requests;
use crate::volumes::Appearance;

/// The digests behind content ids: id -> 16 bytes. An MD5 is kept as it is. Anything longer is kept as its 128-bit
/// XXH3, because only identity matters: among 10^9 contents two share such a hash with a probability below 10^-20.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digests {
    pub(crate) bytes: Vec<[u8; 16]>,
}

impl Digests {
    /// A table of digests in the order of their ids.
    pub fn new(bytes: Vec<[u8; 16]>) -> Digests {
        Digests { bytes }
    }

    /// The digest of a content; `None` for an unknown id or a trace without digests.
    pub fn get(&self, content: u32) -> Option<&[u8; 16]> {
        self.bytes.get(content as usize)
    }

    /// How many digests there are.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are none: contents may have ids without digests (synthetic traces).
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// All digests in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &[u8; 16]> {
        self.bytes.iter()
    }
}

/// Brings a recorded digest of any length to 16 bytes.
pub(crate) fn fold(digest: &[u8]) -> [u8; 16] {
    match digest.try_into() {
        Ok(as_recorded) => as_recorded,
        Err(_) => XxHash3_128::oneshot(digest).to_be_bytes(),
    }
}

/// Digests of 4,096 bytes of zeroes as recorders make them: MD5, SHA-1, SHA-256, and the MD5 of a zero sector.
const OF_ZEROES: [(&str, usize); 4] = [
    ("620f0b67a91f7f74151bc5be745b7110", 1),
    ("1ceaf73df40e531df3bfb26b4fb7cd95fb7bff1d", 1),
    ("ad7facb2586fc6e966c004d7d1d16b024f5805ff7cb47c7a85dabd8b48892ca7", 1),
    ("bf619eac0cdf3f68d496ea9344137e8b", 8),
];

pub(crate) fn digests_of_zeroes() -> impl Iterator<Item = [u8; 16]> {
    OF_ZEROES.iter().filter_map(|&(hex, times)| Some(fold(&bytes_of_hex(hex)?.repeat(times))))
}

pub(crate) fn bytes_of_hex(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.len().is_multiple_of(2).then_some(0..hex.len() / 2)?;
    pairs.map(|pair| u8::from_str_radix(hex.get(2 * pair..2 * pair + 2)?, 16).ok()).collect()
}

/// The digest of a trace, fed with runs of its requests in order. Every column has a hasher of its own, so how the
/// trace is cut does not matter. Volumes enter by order of first appearance, which is known without the rest of the
/// trace.
#[derive(Clone)]
pub(crate) struct TraceHasher {
    chunk_bytes: u32,
    requests: u64,
    volumes: Appearance,
    columns: [XxHash3_128; COLUMNS],
    durable: Option<XxHash3_128>,
    /// The places of requests of other queues than the first, and these queues; as few traces have it.
    queues: Option<XxHash3_128>,
    streams: Option<XxHash3_128>,
}

/// Time, volume, operation, offset, length, whether there are contents, contents.
const COLUMNS: usize = 7;
const BUFFER_BYTES: usize = 64 * 1024;

impl TraceHasher {
    pub(crate) fn new(chunk_bytes: u32) -> TraceHasher {
        TraceHasher {
            chunk_bytes,
            requests: 0,
            volumes: Appearance::default(),
            columns: std::array::from_fn(|_| XxHash3_128::with_seed(0)),
            durable: None,
            queues: None,
            streams: None,
        }
    }

    pub(crate) fn add(&mut self, run: &Requests<'_>) {
        for (place, &bits) in (self.requests..).zip(run.flags).filter(|(_, bits)| **bits != 0) {
            if bits & flags::DURABLE != 0 {
                let places = self.durable.get_or_insert_with(|| XxHash3_128::with_seed(0));
                places.write(&place.to_le_bytes());
            }
            let queue = flags::queue(bits);
            if queue != 0 {
                // Another seed: durable requests at the same places are another trace.
                let queues = self.queues.get_or_insert_with(|| XxHash3_128::with_seed(1));
                queues.write(&place.to_le_bytes());
                queues.write(&[queue]);
            }
        }
        for (place, &stream) in (self.requests..).zip(run.stream).filter(|(_, stream)| **stream != NO_STREAM)
        {
            let streams = self.streams.get_or_insert_with(|| XxHash3_128::with_seed(2));
            streams.write(&place.to_le_bytes());
            streams.write(&stream.to_le_bytes());
        }
        self.requests += run.len() as u64;
        self.column(0, run.time_ns.iter().map(|time| time.to_le_bytes()));
        let mut volumes = std::mem::take(&mut self.volumes);
        self.column(1, run.volume.iter().map(|&volume| volumes.number(volume).0.to_le_bytes()));
        self.volumes = volumes;
        self.column(2, run.op.iter().map(|&op| [op as u8]));
        self.column(3, run.offset_bytes.iter().map(|offset| offset.to_le_bytes()));
        self.column(4, run.length_bytes.iter().map(|length| length.to_le_bytes()));
        match run.content_start {
            [first, .., last] => {
                self.column(5, run.content_start.windows(2).map(|pair| [u8::from(pair[0] != pair[1])]));
                let content = &run.content[*first as usize..*last as usize];
                self.column(6, content.iter().map(|id| id.to_le_bytes()));
            }
            _ => self.column(5, run.time_ns.iter().map(|_| [0])),
        }
    }

    fn column<const N: usize>(&mut self, column: usize, mut values: impl Iterator<Item = [u8; N]>) {
        // Not kept, because thousands of volumes have a hasher each.
        let mut buffer = Vec::with_capacity(values.size_hint().0.saturating_mul(N).min(BUFFER_BYTES));
        loop {
            buffer.clear();
            buffer.extend(values.by_ref().take(BUFFER_BYTES / N).flatten());
            if buffer.is_empty() {
                return;
            }
            self.columns[column].write(&buffer);
        }
    }

    /// 32 hex digits; `holes` are by the numbers that the runs have for volumes.
    pub(crate) fn finish(&self, holes: &Holes) -> String {
        let mut all = XxHash3_128::with_seed(0);
        all.write(&self.chunk_bytes.to_le_bytes());
        all.write(&self.requests.to_le_bytes());
        for column in self.columns.iter().chain(&self.durable).chain(&self.queues).chain(&self.streams) {
            all.write(&column.finish_128().to_le_bytes());
        }
        // Parts that most traces do not have leave the digest unchanged.
        let mut holes: Vec<_> =
            holes.iter().filter_map(|(volume, range)| Some((self.volumes.get(volume)?, range))).collect();
        holes.sort_unstable_by_key(|(volume, range)| (*volume, range.start));
        for (volume, range) in holes {
            all.write(&volume.to_le_bytes());
            all.write(&range.start.to_le_bytes());
            all.write(&range.end.to_le_bytes());
        }
        format!("{:032x}", all.finish_128())
    }
}
