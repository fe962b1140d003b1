//! Numbers and times as people and other programs write them, as integers, never by way of a double.

const NS_PER_SECOND: i128 = 1_000_000_000;
const MINUTES_PER_DAY: i128 = 24 * 60;
/// With a unit of seconds in nanoseconds they fit into 128 bits.
const DIGITS_MAX: usize = 28;

/// A decimal number of units, such as `17.25`, `4096.0` or `1.7e9`, in parts of which a unit has `per_unit`; and
/// whether that is all of it. Digits below are cut off.
#[inline]
pub(crate) fn decimal(text: &[u8], per_unit: u64) -> Option<(i128, bool)> {
    let negative = text.first() == Some(&b'-');
    let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    let (mut value, mut decimals, mut point, mut exponent) = (0i128, 0, false, 0);
    for (at, byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' if at <= DIGITS_MAX => {
                value = value * 10 + i128::from(byte - b'0');
                decimals += i32::from(point);
            }
            b'.' if !point => point = true,
            b'e' | b'E' if at > 0 => {
                exponent = i32::from(std::str::from_utf8(&digits[at + 1..]).ok()?.parse::<i16>().ok()?);
                break;
            }
            _ => return None,
        }
    }
    if !digits.iter().take(2).any(u8::is_ascii_digit) {
        return None;
    }
    let (value, power) = (value * i128::from(per_unit), exponent - decimals);
    let value = if negative { -value } else { value };
    if power == 0 {
        return Some((value, true));
    }
    let scale = 10i128.checked_pow(power.unsigned_abs())?;
    if power > 0 {
        Some((value.checked_mul(scale)?, true))
    } else {
        Some((value / scale, value % scale == 0))
    }
}

/// Nanoseconds since 1970 of a moment such as `2026-01-31T12:00:00.25+01:00` (ISO 8601), also with a blank for the T;
/// those since midnight if there is no date.
#[cold]
pub(crate) fn moment_ns(text: &[u8]) -> Option<i128> {
    let text = std::str::from_utf8(text).ok()?;
    let (date, clock) = match text.split_once(['T', ' ']) {
        Some((date, clock)) => (date, clock),
        None if text.contains(':') => ("1970-01-01", text),
        None => (text, "00:00"),
    };
    let clock = clock.strip_suffix('Z').unwrap_or(clock);
    let (clock, zone) = clock.split_at(clock.find(['+', '-']).unwrap_or(clock.len()));
    let zone_minutes = match zone.split_at_checked(3) {
        _ if zone.is_empty() => 0,
        Some((hours, minutes)) => {
            let minutes = minutes.trim_start_matches(':');
            let minutes = if minutes.is_empty() { 0 } else { within(minutes, 0, 59)? };
            let east = within(&hours[1..], 0, 23)? * 60 + minutes;
            if hours.starts_with('-') { -east } else { east }
        }
        None => return None,
    };
    let mut parts = clock.splitn(3, ':');
    let minutes = within(parts.next()?, 0, 24)? * 60 + within(parts.next()?, 0, 59)? - zone_minutes;
    let (seconds_ns, _) = decimal(parts.next().unwrap_or("0").as_bytes(), NS_PER_SECOND as u64)?;
    let in_minute = (0..=60 * NS_PER_SECOND).contains(&seconds_ns);
    let minutes = days_since_1970(date)? * MINUTES_PER_DAY + minutes;
    in_minute.then_some(minutes * 60 * NS_PER_SECOND + seconds_ns)
}

fn within(digits: &str, least: i128, most: i128) -> Option<i128> {
    let number = digits.parse().ok().filter(|number| (least..=most).contains(number));
    number.filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn days_since_1970(date: &str) -> Option<i128> {
    let parts: Vec<&str> = date.split(['-', '/']).collect();
    let [year, month, day] = parts[..] else { return None };
    let (year, month, day) = (within(year, 1601, 9999)?, within(month, 1, 12)?, within(day, 1, 31)?);
    // Years that begin in March, so that the leap day is the last one; days before the month by a straight line.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    const BEFORE_1970: i128 = 719_469;
    Some(365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - BEFORE_1970)
}
