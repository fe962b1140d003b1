//! The Protocol Buffers wire format as far as needed (<https://protobuf.dev/programming-guides/encoding/>).

const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const BYTES: u64 = 2;

#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// A field of type `uint32`, `uint64`, `int64`, `bool` or an enumeration.
    pub(super) fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3 | VARINT);
        self.varint(value);
    }

    /// A field of type `fixed64`.
    pub(super) fn fixed(&mut self, field: u64, value: u64) {
        self.varint(field << 3 | FIXED_64);
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn text(&mut self, field: u64, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    pub(super) fn message(&mut self, field: u64, write: impl FnOnce(&mut Message)) {
        let mut inner = Message::default();
        write(&mut inner);
        self.bytes(field, &inner.0);
    }

    pub(super) fn message_if_any(&mut self, field: u64, inner: &Message) {
        if !inner.0.is_empty() {
            self.bytes(field, &inner.0);
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | BYTES);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    /// Seven bits a byte, the lowest first. The highest bit says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}
