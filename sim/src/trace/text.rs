//! Text in cells: cleaned, wrapped, cut. Widths count characters.

/// No line of a picture or report is wider.
pub(super) const MAX_WIDTH: usize = 120;

/// Width of `text`, in characters.
pub(super) fn width(text: &str) -> usize {
    text.chars().count()
}

/// One line of printable text: runs of white space become one space, control characters are
/// escaped.
pub(super) fn clean(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        for c in word.chars() {
            if c.is_control() { line.extend(c.escape_default()) } else { line.push(c) }
        }
    }
    line
}

/// `text`, or its beginning and an ellipsis where it is wider than `max`.
pub(super) fn cut(text: &str, max: usize) -> String {
    if width(text) <= max {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(max.saturating_sub(1)).collect();
    short.truncate(short.trim_end().len());
    short.push('…');
    short
}

/// `text` and spaces up to `width`.
pub(super) fn pad(text: &str, width: usize) -> String {
    format!("{text:<width$}")
}

/// Breaks `text` into lines of at most `max`; the second line and those after it begin with
/// `indent` spaces. Words wider than a line are split; a dash at the end stays with its word.
pub(super) fn wrap(text: &str, max: usize, indent: usize) -> Vec<String> {
    let max = max.max(4);
    let indent = if indent + 4 > max { 0 } else { indent };
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let (text, dash) = text.strip_suffix(" --").map_or((text, ""), |text| (text, " --"));
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).rev().collect();
    words[0].push_str(dash);
    let mut empty = true;
    while let Some(word) = words.pop() {
        let gap = usize::from(!empty);
        let used = width(&line);
        if used + gap + width(&word) <= max {
            line.push_str(if gap == 1 { " " } else { "" });
            line.push_str(&word);
            empty = false;
        } else if empty {
            let room = max - used;
            line.extend(word.chars().take(room));
            words.push(word.chars().skip(room).collect());
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
        } else {
            words.push(word);
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            empty = true;
        }
    }
    lines.push(line);
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// `1 row`, `2 rows`.
pub(super) fn counted(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_wraps_between_words_and_hangs() {
        let lines = wrap("-- preempted in header lock of buffer 0 state --", 20, 3);

        assert_eq!(lines, ["-- preempted in", "   header lock of", "   buffer 0 state --"]);
    }

    #[test]
    fn a_word_wider_than_a_line_is_split() {
        assert_eq!(wrap("abcdefghijk", 5, 0), ["abcde", "fghij", "k"]);
        assert_eq!(wrap("a bcdefghij", 5, 0), ["a", "bcdef", "ghij"]);
    }

    #[test]
    fn a_cut_text_ends_in_an_ellipsis_and_counts_characters() {
        assert_eq!(cut("größer als", 6), "größe…");
        assert_eq!(cut("größe", 5), "größe");
    }

    #[test]
    fn control_characters_never_reach_a_cell() {
        assert_eq!(clean("a\n  b\u{1b}[0m\t"), "a b\\u{1b}[0m");
    }
}
