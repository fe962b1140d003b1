//! The sample as published by clouds and data centres.

use std::fmt::Write as _;

use super::{Asked, lines, read_or_write, requests};

pub(crate) fn alibaba() -> String {
    lines(|text, asked| {
        let (op, offset, length) = (read_or_write(asked, "R", "W"), asked.sector * 512, asked.sectors * 512);
        let time = 1_577_808_000_000_000 + asked.ticks / 10;
        let _ = write!(text, "{},{op},{offset},{length},{time}", asked.volume);
    })
}

pub(crate) fn tencent() -> String {
    lines(|text, asked| {
        let (time, op) = (1_538_323_200 + asked.ticks / 10_000_000, read_or_write(asked, "0", "1"));
        let _ = write!(text, "{time},{},{},{op},{}", asked.sector, asked.sectors, 1063 + asked.volume);
    })
}

/// SYSTOR '17, with its header, and lines without a type, some of them without a response.
pub(crate) fn systor() -> String {
    let header = "Timestamp,Response,IOType,LUN,Offset,Size\n".to_owned();
    header
        + &lines(|text, asked| {
            let (whole, part) = (1_456_135_200 + asked.ticks / 10_000_000, asked.ticks % 10_000_000);
            let (op, offset, size) =
                (read_or_write(asked, "R", "W"), asked.sector * 512, asked.sectors * 512);
            if asked.sector % 3 == 0 {
                let response = if asked.sector % 2 == 0 { "0.000806000" } else { "" };
                let _ = writeln!(text, "{whole}.{part:07}00,{response},,{},{offset},{size}", asked.volume);
            }
            let _ = write!(text, "{whole}.{part:07}00,0.000806000,{op},{},{offset},{size}", asked.volume);
        })
}

/// The requests of volume 0: a CloudPhysics trace has one volume only.
pub(crate) fn of_one_volume() -> Vec<Asked> {
    requests().into_iter().filter(|asked| asked.volume == 0).collect()
}

pub(crate) fn cloudphysics() -> String {
    let mut text = "version,time,op,size,lbn\n".to_owned();
    for asked in of_one_volume() {
        let (time, short) = (5_633_898 + asked.ticks / 10_000_000, asked.sector % 2 == 0);
        let op = match (asked.read, short) {
            (true, true) => "28",
            (true, false) => "88",
            (false, true) => "2a",
            (false, false) => "8a",
        };
        let _ = writeln!(text, "1,{time},{op},{},{}", asked.sectors * 512, asked.sector);
        if asked.is_flushed() {
            let code = if short { "35" } else { "91" };
            let _ = writeln!(text, "1,{time},{code},0,0");
        }
        if asked.sector % 5 == 0 {
            let _ = writeln!(text, "1,{time},12,96,0");
        }
    }
    text
}
