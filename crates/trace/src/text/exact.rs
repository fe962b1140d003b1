//! Numbers and times as people and other programs write them, as integers, never by way of a double.

const NS_PER_SECOND: i128 = 1_000_000_000;
const SECONDS_PER_DAY: i128 = 86_400;
/// Digits that always fit into 64 bits.
const DIGITS_MAX: usize = 19;

/// A decimal number of units, such as `17.25`, `4096.0` or `1.7e9`, in parts of which a unit has `per_unit`; and
/// whether that is all of it. Digits below are cut off.
#[inline]
pub(crate) fn decimal(text: &[u8], per_unit: u64) -> Option<(i128, bool)> {
    match short(text, per_unit) {
        Some(value) => Some((value.into(), true)),
        None => any_decimal(text, per_unit),
    }
}

/// Few digits, of which none is cut off.
#[inline]
fn short(text: &[u8], per_unit: u64) -> Option<u64> {
    let (mut value, mut per_unit, mut point) = (0u64, per_unit, false);
    if text.len() > DIGITS_MAX + 1 || !text.first()?.is_ascii_digit() {
        return None;
    }
    for &byte in text {
        match byte.wrapping_sub(b'0') {
            digit @ 0..=9 => {
                value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
                if point {
                    per_unit = per_unit.is_multiple_of(10).then_some(per_unit / 10)?;
                }
            }
            _ if byte == b'.' && !point => point = true,
            _ => return None,
        }
    }
    value.checked_mul(per_unit)
}

#[cold]
fn any_decimal(text: &[u8], per_unit: u64) -> Option<(i128, bool)> {
    let (negative, mut rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] | rest => (false, rest),
    };
    let (mut value, mut power, mut digits, mut point) = (0i128, 0i32, 0, false);
    while let [byte, behind @ ..] = rest {
        rest = behind;
        match byte {
            b'0'..=b'9' => {
                value = value.checked_mul(10)?.checked_add(i128::from(byte - b'0'))?;
                power -= i32::from(point);
                digits += 1;
            }
            b'.' if !point => point = true,
            b'e' | b'E' if digits > 0 => {
                power += i32::from(std::str::from_utf8(rest).ok()?.parse::<i16>().ok()?);
                rest = &[];
            }
            _ => return None,
        }
    }
    let value = value.checked_mul(per_unit.into())?;
    let value = if negative { -value } else { value };
    let scale = 10i128.checked_pow(power.unsigned_abs())?;
    match power {
        _ if digits == 0 => None,
        0.. => Some((value.checked_mul(scale)?, true)),
        _ => Some((value / scale, value % scale == 0)),
    }
}

/// Nanoseconds since 1970 of a moment such as `2026-01-31T12:00:00.25+01:00` (ISO 8601), also with a blank for the T;
/// those since midnight if there is no date.
#[cold]
pub(crate) fn moment_ns(text: &[u8]) -> Option<i128> {
    let text = std::str::from_utf8(text).ok()?;
    let (date, clock) = match text.split_once(['T', ' ']) {
        Some((date, clock)) => (Some(date), clock),
        None if text.contains(':') => (None, text),
        None => (Some(text), "00:00:00"),
    };
    let days = date.map_or(Some(0), days_since_1970)?;
    let clock = clock.strip_suffix('Z').unwrap_or(clock);
    let (clock, zone_s) = match clock.rfind(['+', '-']) {
        Some(at) => (&clock[..at], zone_s(&clock[at..])?),
        None => (clock, 0),
    };
    let mut parts = clock.splitn(3, ':');
    let hours = small(parts.next()?, 0, 24)?;
    let minutes = small(parts.next()?, 0, 59)?;
    let (seconds_ns, _) = decimal(parts.next().unwrap_or("0").as_bytes(), 1_000_000_000)?;
    let minutes = days * SECONDS_PER_DAY / 60 + hours * 60 + minutes;
    let in_minute = (0..=60 * NS_PER_SECOND).contains(&seconds_ns);
    in_minute.then_some((minutes * 60 - zone_s) * NS_PER_SECOND + seconds_ns)
}

fn small(text: &str, least: i128, most: i128) -> Option<i128> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|value| digits && (least..=most).contains(value))
}

/// `+01:00`, `+0100` or `+01`, in seconds.
fn zone_s(text: &str) -> Option<i128> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits = text[1..].replace(':', "");
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes = if minutes.is_empty() { "0" } else { minutes };
    Some(sign * (small(hours, 0, 23)? * 60 + small(minutes, 0, 59)?) * 60)
}

fn days_since_1970(date: &str) -> Option<i128> {
    let mut parts = date.split(['-', '/']);
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let (year, month, day) = (small(year, 1601, 9999)?, small(month, 1, 12)?, small(day, 1, 31)?);
    if parts.next().is_some() {
        return None;
    }
    // Years that begin in March, so that the leap day is the last one; days before the month by a straight line.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before_month = (153 * month + 2) / 5;
    const BEFORE_1970: i128 = 719_469;
    Some(365 * year + year / 4 - year / 100 + year / 400 + before_month + day - BEFORE_1970)
}
