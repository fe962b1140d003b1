//! The pieces of a long request.

use super::offer::PIECE_BYTES;
use super::wire::Request;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) offset: u64,
    pub(super) bytes: usize,
    pub(super) is_last: bool,
}

impl Piece {
    pub(super) fn whole(request: &Request) -> Self {
        Self { offset: request.offset, bytes: request.length as usize, is_last: true }
    }
}

/// Pieces meet where pages do, so that no page is written in two parts. Those of a refused request may lie beyond 2^64.
pub(super) fn pieces(request: &Request, page_bytes: u32) -> impl Iterator<Item = Piece> + use<> {
    let (mut offset, mut left) = (request.offset, request.length as usize);
    std::iter::from_fn(move || {
        let beside_page = (offset % u64::from(page_bytes)) as usize % PIECE_BYTES;
        let bytes = left.min(PIECE_BYTES - beside_page);
        let piece = Piece { offset, bytes, is_last: bytes == left };
        (left > 0).then(|| {
            offset = offset.wrapping_add(bytes as u64);
            left -= bytes;
            piece
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_a_request_and_meet_where_pages_do() {
        let cut = |offset, length| -> Vec<(u64, usize, bool)> {
            let request = Request { flags: 0, command: 0, cookie: 0, offset, length };
            pieces(&request, 4096).map(|piece| (piece.offset, piece.bytes, piece.is_last)).collect()
        };
        let piece = PIECE_BYTES;
        assert_eq!(cut(8192, PIECE_BYTES as u32), [(8192, piece, true)]);
        let whole = [(0, piece, false), (1 << 20, piece, false), (2 << 20, 1, true)];
        assert_eq!(cut(0, (2 << 20) + 1), whole);
        let aside =
            [(5000, piece - 904, false), ((1 << 20) + 4096, piece, false), ((2 << 20) + 4096, 904, true)];
        assert_eq!(cut(5000, 2 << 20), aside);
        let beyond = cut(u64::MAX - 99, 2 << 20);
        assert_eq!(
            beyond.iter().map(|&(_, bytes, _)| bytes).sum::<usize>(),
            2 << 20,
            "its payload is to be read"
        );
    }
}
