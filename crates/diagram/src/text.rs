//! How much room a text takes, as nearly as one can say without its font.

use alloc::string::String;
use alloc::vec::Vec;

use crate::geometry::Px;

/// About how wide a text is in a font of that size: rather too wide than too narrow, so that what
/// does not overlap here does not overlap in any common sans serif either. (In bold, DejaVu is a
/// tenth wider still; the fonts that are asked for before it are not.)
pub fn width(text: &str, size: Px) -> Px {
    size.scaled(text.chars().map(per_cent_of_size).sum(), 100)
}

/// The widths of DejaVu Sans, the widest of the fonts that browsers fall back to.
fn per_cent_of_size(letter: char) -> u64 {
    match letter {
        'i' | 'j' | 'l' | '\'' | '|' => 34,
        ' ' | '.' | ',' | ':' | ';' | '(' | ')' | '[' | ']' | 'f' | 't' | 'r' | 'I' | '!' => 42,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 100,
        '#' | '<' | '>' | '=' | '+' | '~' | '^' | '&' => 84,
        'A'..='Z' => 80,
        ' '..='~' => 64,
        _ => 100,
    }
}

/// The text in lines that are no wider than that, broken between words; a word that is wider on
/// its own is broken where it must be.
pub fn wrap(text: &str, size: Px, wide: Px) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let separator = if line.is_empty() { "" } else { " " };
        if width(&line, size) + width(separator, size) + width(word, size) <= wide {
            line.push_str(separator);
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(core::mem::take(&mut line));
        }
        for letter in word.chars() {
            if !line.is_empty() && width(&line, size) + size > wide {
                lines.push(core::mem::take(&mut line));
            }
            line.push(letter);
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::px;

    #[test]
    fn a_longer_text_is_wider_and_a_larger_font_too() {
        assert!(width("Request(102)", px(12)) > width("Request", px(12)));
        assert!(width("Request", px(13)) > width("Request", px(12)));
        assert_eq!(width("", px(12)), Px::ZERO);
    }

    #[test]
    fn no_common_font_is_wider_and_none_is_much_narrower() {
        // Thousandths of the size, added up from the fonts' own tables: DejaVu Sans, Liberation.
        for (text, dejavu, liberation) in [
            ("Request(102)", 6_796, 6_059),
            ("Reply", 2_814, 2_557),
            ("Grant { fence: #1 }", 9_946, 8_117),
        ] {
            let thousandths = width(text, px(1_000)).holds(px(1));
            assert!(thousandths >= dejavu, "{text}: {thousandths}");
            assert!(thousandths * 100 <= liberation * 135, "{text}: {thousandths}");
        }
    }

    #[test]
    fn lines_are_broken_between_words_and_lose_none() {
        let text = "p1 waits for p2, p2 waits for p3, and p3 waits for p1: nobody can go on";
        let lines = wrap(text, px(12), px(150));
        assert!(lines.len() > 2, "{lines:?}");
        assert!(lines.iter().all(|line| width(line, px(12)) <= px(150)), "{lines:?}");
        assert_eq!(lines.join(" "), text);
    }

    #[test]
    fn a_word_wider_than_the_line_is_broken_and_loses_no_letter() {
        let lines = wrap("mmmmmmmmmmmmmmmmmmmm", px(10), px(55));
        assert!(lines.iter().all(|line| width(line, px(10)) <= px(55)), "{lines:?}");
        assert_eq!(lines.concat(), "mmmmmmmmmmmmmmmmmmmm");
    }
}
