//! `strftime_now` over a given time.

use minijinja::{Error, ErrorKind};

/// Wall-clock fields without a zone; month and day count from 1.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Time {
    pub year: i32,
    pub month: i32,
    pub day: i32,
    pub hour: i32,
    pub minute: i32,
    pub second: i32,
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

impl Time {
    fn month_name(&self) -> &'static str {
        MONTHS[(self.month - 1).rem_euclid(12) as usize]
    }

    /// 0 is 1 January.
    fn day_of_year(&self) -> i32 {
        const BEFORE: [i32; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
        let leap = self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0);
        let after_february = leap && self.month > 2;
        BEFORE[(self.month - 1).rem_euclid(12) as usize] + self.day - 1 + i32::from(after_february)
    }

    /// 0 is Sunday. Days since 1 January of year 1, which was a Monday.
    fn weekday(&self) -> i32 {
        let years = i64::from(self.year) - 1;
        let days =
            years * 365 + years.div_euclid(4) - years.div_euclid(100) + years.div_euclid(400);
        ((days + i64::from(self.day_of_year()) + 1).rem_euclid(7)) as i32
    }

    fn day_name(&self) -> &'static str {
        DAYS[self.weekday() as usize]
    }

    fn hour12(&self) -> i32 {
        match self.hour % 12 {
            0 => 12,
            hour => hour,
        }
    }

    fn half(&self) -> &'static str {
        if self.hour < 12 {
            "AM"
        } else {
            "PM"
        }
    }
}

/// A number padded to `width` with `fill`, unless the directive carries the flag `-`.
fn padded(number: i32, width: usize, fill: char, flag: Option<char>) -> String {
    match (flag, fill) {
        (Some('-'), _) => number.to_string(),
        (Some('_'), _) | (None, ' ') => format!("{number:>width$}"),
        _ => format!("{number:0>width$}"),
    }
}

/// Formats `now` by the directives of C's strftime in the C locale, with glibc's flags `-`, `_` and `0`.
pub fn strftime(now: Time, format: &str) -> Result<String, Error> {
    let mut text = String::with_capacity(format.len() + 16);
    let mut chars = format.chars().peekable();
    while let Some(letter) = chars.next() {
        if letter != '%' {
            text.push(letter);
            continue;
        }
        let flag = chars.next_if(|next| matches!(next, '-' | '_' | '0'));
        match chars.next() {
            Some(directive) => text.push_str(&expand(now, directive, flag)?),
            None => text.push('%'),
        }
    }
    Ok(text)
}

fn expand(now: Time, directive: char, flag: Option<char>) -> Result<String, Error> {
    let zeros = |number: i32, width: usize| padded(number, width, '0', flag);
    let nested = |format: &str| strftime(now, format);
    Ok(match directive {
        'Y' => padded(now.year, 1, '0', flag),
        'C' => zeros(now.year.div_euclid(100), 2),
        'y' => zeros(now.year.rem_euclid(100), 2),
        'm' => zeros(now.month, 2),
        'd' => zeros(now.day, 2),
        'e' => padded(now.day, 2, ' ', flag),
        'H' => zeros(now.hour, 2),
        'k' => padded(now.hour, 2, ' ', flag),
        'I' => zeros(now.hour12(), 2),
        'l' => padded(now.hour12(), 2, ' ', flag),
        'M' => zeros(now.minute, 2),
        'S' => zeros(now.second, 2),
        'f' => "000000".to_string(),
        'j' => zeros(now.day_of_year() + 1, 3),
        'w' => now.weekday().to_string(),
        'u' => ((now.weekday() + 6) % 7 + 1).to_string(),
        'U' => zeros((now.day_of_year() + 7 - now.weekday()) / 7, 2),
        'W' => zeros((now.day_of_year() + 7 - (now.weekday() + 6) % 7) / 7, 2),
        'B' => now.month_name().to_string(),
        'b' | 'h' => now.month_name()[..3].to_string(),
        'A' => now.day_name().to_string(),
        'a' => now.day_name()[..3].to_string(),
        'p' => now.half().to_string(),
        'P' => now.half().to_lowercase(),
        'c' => nested("%a %b %e %H:%M:%S %Y")?,
        'x' | 'D' => nested("%m/%d/%y")?,
        'X' | 'T' => nested("%H:%M:%S")?,
        'R' => nested("%H:%M")?,
        'r' => nested("%I:%M:%S %p")?,
        'F' => nested("%Y-%m-%d")?,
        'n' => "\n".to_string(),
        't' => "\t".to_string(),
        '%' => "%".to_string(),
        'z' | 'Z' => String::new(),
        other => {
            return Err(Error::new(
                ErrorKind::InvalidOperation,
                format!("strftime_now does not know %{other}"),
            ))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time {
        year: 2025,
        month: 3,
        day: 4,
        hour: 15,
        minute: 9,
        second: 26,
    };

    fn at(format: &str) -> String {
        strftime(NOW, format).unwrap()
    }

    #[test]
    fn dates_are_written_as_c_writes_them() {
        assert_eq!(at("%d %b %Y"), "04 Mar 2025");
        assert_eq!(at("%A, %-d %B %y"), "Tuesday, 4 March 25");
        assert_eq!(at("%e|%j|%u|%w|%U|%W"), " 4|063|2|2|09|09");
        assert_eq!(at("%I:%M %p %%"), "03:09 PM %");
        assert_eq!(at("%c"), "Tue Mar  4 15:09:26 2025");
    }

    #[test]
    fn an_unknown_directive_is_an_error() {
        assert!(strftime(NOW, "%Q").is_err());
        assert_eq!(at("100%"), "100%");
    }
}
