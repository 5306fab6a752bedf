//! Explains to an author why a text is not YAML, and where: a parser often notices a fault a line or a page after its
//! cause.

use crate::problem::LineColumn;

/// The usual cause of text that does not parse, near the place at which a parser gave up, with the mend.
pub(super) fn find_cause(text: &str, noticed: LineColumn) -> Option<(LineColumn, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.len().saturating_sub(1);
    let seen = (noticed.line as usize).saturating_sub(1).min(last);
    // A tab is noticed a line too early, other things a line too late.
    let near = [seen, seen.saturating_sub(1), (seen + 1).min(last)];
    let has_tab = |at: &&usize| {
        let line = lines.get(**at);
        line.is_some_and(|line| line.trim_start_matches(' ').starts_with('\t'))
    };
    if let Some(row) = near.iter().find(has_tab) {
        let message = "a tab; indent with spaces, not tabs".to_owned();
        return Some((place(*row, 0), message));
    }
    let of_line = |row: &usize| {
        let (column, message) = line_fault(lines.get(*row)?)?;
        Some((place(*row, column), message))
    };
    unclosed(&lines)
        .or_else(|| near[..2].iter().find_map(of_line))
        .or_else(|| depth(&lines, seen))
}

/// A place by its row and column from 0.
fn place(row: usize, column: usize) -> LineColumn {
    let number = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
    LineColumn {
        line: number(row),
        column: number(column),
    }
}

/// Quotes and brackets that are never closed, or closed by a bracket of the other kind.
fn unclosed(lines: &[&str]) -> Option<(LineColumn, String)> {
    let mut open: Vec<(char, LineColumn)> = Vec::new();
    // The depth of the line whose block of text continues.
    let mut text_under: Option<usize> = None;
    for (row, line) in lines.iter().enumerate() {
        if text_under.is_some_and(|depth| line.trim().is_empty() || indent(line) > depth) {
            continue;
        }
        if let Some(found) = scan(line, row, &mut open) {
            return Some(found);
        }
        let value = line.rsplit(' ').next().unwrap_or_default();
        let is_text = matches!(value, "|" | ">" | "|-" | ">-" | "|+" | ">+");
        text_under = (open.is_empty() && is_text).then_some(indent(line));
    }
    let (what, at) = open.into_iter().next()?;
    let message = match what {
        '[' => "`[` is never closed; write `]` where the list ends".to_owned(),
        '{' => "`{` is never closed; write `}` where the block ends".to_owned(),
        quote => {
            format!("the quote `{quote}` is never closed; write `{quote}` where the text ends")
        }
    };
    Some((at, message))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Opens and closes the brackets of a line; a bracket that closes another kind is reported.
fn scan(
    line: &str,
    row: usize,
    open: &mut Vec<(char, LineColumn)>,
) -> Option<(LineColumn, String)> {
    // Whether a value can begin here: quotes and brackets inside a text are text.
    let mut begins = true;
    let mut before = ' ';
    let mut letters = line.chars().enumerate().peekable();
    while let Some((column, letter)) = letters.next() {
        let quoted = open
            .last()
            .map(|(what, _)| *what)
            .filter(|what| matches!(what, '"' | '\''));
        match (quoted, letter) {
            (Some('"'), '\\') => {
                letters.next();
            }
            (Some('\''), '\'') if letters.peek().is_some_and(|(_, next)| *next == '\'') => {
                letters.next();
            }
            (Some(quote), letter) if quote == letter => drop(open.pop()),
            (Some(_), _) => {}
            (None, '#') if before.is_whitespace() => return None,
            (None, '"' | '\'' | '[' | '{') if begins => open.push((letter, place(row, column))),
            (None, ']' | '}') if !open.is_empty() => {
                let (what, at) = open.pop()?;
                let wanted = if what == '[' { ']' } else { '}' };
                if letter != wanted {
                    let message = format!(
                        "`{letter}` where `{wanted}` is wanted, as `{what}` on line {} is open; write `{wanted}`",
                        at.line
                    );
                    return Some((place(row, column), message));
                }
            }
            _ => {}
        }
        let is_flow = !open.is_empty();
        begins = match letter {
            ' ' => begins || matches!(before, ':' | '-' | '?'),
            '[' | '{' | ',' => is_flow,
            '-' => begins,
            _ => false,
        };
        before = letter;
    }
    None
}

/// A usual fault of a line by itself: its column from 0, and the fix.
fn line_fault(line: &str) -> Option<(usize, String)> {
    if let Some(found) = apostrophe(line).or_else(|| name_in_braces(line)) {
        return Some(found);
    }
    let start = line.chars().take_while(|c| matches!(c, ' ' | '-')).count();
    let rest: String = line.chars().skip(start).collect();
    let Some((key, value)) = rest.split_once(": ") else {
        let (key, value) = rest.split_once(':')?;
        let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let message = format!("no space after the colon; write `{key}: {}`", value.trim());
        return (is_key && !value.trim().is_empty())
            .then_some((start + key.chars().count(), message));
    };
    let column = start + key.chars().count() + 2;
    let value = value.split(" #").next().unwrap_or_default().trim();
    if value.starts_with(['@', '`', '%', '*', '&', '!', '|', '>']) && value.len() > 1 {
        let begin: String = value.chars().take(1).collect();
        return Some((
            column,
            format!("text that begins with `{begin}` has a meaning of its own; put it in quotes"),
        ));
    }
    if let Some(end) = value
        .strip_prefix(['"', '\''])
        .and_then(|text| text.find(&value[..1]))
    {
        let after = value[end + 2..].trim();
        let is_more = !after.is_empty() && !after.starts_with([',', '}', ']', ':']);
        return is_more.then(|| {
            let at = column + value[..end + 2].chars().count();
            (
                at,
                "text after the closing quote; put all of it in the quotes, or none".to_owned(),
            )
        });
    }
    if line.trim_start().starts_with('{') {
        let message = "a block in braces that nothing leads to; an item of a list begins with `- `: `- {id: …}`";
        return Some((line.len() - line.trim_start().len(), message.to_owned()));
    }
    let inner = value
        .find(": ")
        .filter(|_| !value.starts_with(['{', '[']))?;
    let message = "a second colon in the line; put text that contains a colon in quotes".to_owned();
    Some((column + value[..inner].chars().count(), message))
}

/// A text in single quotes that an apostrophe ends, such as `'How's it?'`.
fn apostrophe(line: &str) -> Option<(usize, String)> {
    let letters: Vec<char> = line.chars().collect();
    let opens = |at: usize| {
        letters[at] == '\''
            && at > 1
            && letters[at - 1] == ' '
            && matches!(letters[at - 2], ':' | ',' | '-')
    };
    let begin = (0..letters.len()).find(|at| opens(*at))?;
    let end = begin
        + 1
        + letters[begin + 1..]
            .iter()
            .position(|letter| *letter == '\'')?;
    let is_letter = |at: usize| letters.get(at).is_some_and(|letter| letter.is_alphabetic());
    (is_letter(end - 1) && is_letter(end + 1)).then(|| {
        let message =
            "this apostrophe ends the text; write the text in double quotes, such as \"How's it?\"";
        (end, message.to_owned())
    })
}

/// Finds a value that begins with a name in braces and continues, such as `{mood} > 3`.
fn name_in_braces(line: &str) -> Option<(usize, String)> {
    let begin = line.find(": {")? + 2;
    let (name, rest) = line[begin + 1..].split_once('}')?;
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    let rest = rest.trim_start();
    let goes_on = !rest.is_empty() && !rest.starts_with([',', '}', ']', '#']);
    (is_name && goes_on).then(|| {
        let message =
            format!("text that begins with a name in braces stands in quotes: `\"{{{name}}} …\"`");
        (line[..begin].chars().count(), message)
    })
}

/// Finds a line whose depth no line around it has, or that is not `key: value` among such lines.
fn depth(lines: &[&str], row: usize) -> Option<(LineColumn, String)> {
    let is_there = |line: &&&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let line = lines.get(row)?;
    let own = indent(line);
    let mut depths: Vec<usize> = Vec::new();
    for before in lines[..row].iter().filter(is_there) {
        let at = indent(before);
        depths.retain(|depth| *depth < at);
        depths.push(at);
        let item = before.trim_start();
        let inner = item.strip_prefix("- ").map(|rest| at + 2 + indent(rest));
        depths.extend(inner);
    }
    if !line.contains(':') && !line.trim_start().starts_with('-') {
        let message =
            "no colon; expected a key and its value, such as `title: Cooking together`".to_owned();
        return Some((place(row, own), message));
    }
    if depths.contains(&own) {
        return None;
    }
    let known: Vec<String> = depths.iter().map(ToString::to_string).collect();
    let message = format!(
        "indented by {own}, and the lines before by {}; put keys of one block below each other",
        known.join(", ")
    );
    Some((place(row, own), message))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message about a text that was noticed to be wrong on a line.
    fn told(text: &str, line: u32) -> String {
        let (at, message) = find_cause(text, LineColumn { line, column: 1 }).expect("a cause");
        format!("{}:{}: {message}", at.line, at.column)
    }

    #[test]
    fn what_is_never_closed_is_told_where_it_opens() {
        assert_eq!(
            told("a: 1\nb: [c.md\nd: 2\n", 4),
            "2:4: `[` is never closed; write `]` where the list ends"
        );
        assert_eq!(
            told("a: {b: 1\n", 2),
            "1:4: `{` is never closed; write `}` where the block ends"
        );
        assert_eq!(
            told("a: \"it's\nb: 2\n", 3),
            "1:4: the quote `\"` is never closed; write `\"` where the text ends"
        );
        assert_eq!(
            told("a: {b: [1, 2}\n", 1),
            "1:13: `}` where `]` is wanted, as `[` on line 1 is open; write `]`"
        );
    }

    #[test]
    fn brackets_inside_texts_are_text() {
        for text in [
            "a: it's [so\nb 2\n",
            "a: 'x [ \\'\nb 2\n",
            "a: \"[\"\nb 2\n",
            "a: 1 # [\nb 2\n",
            "a: |\n  [ {\nb 2\n",
        ] {
            assert!(
                told(text, text.lines().count() as u32).contains("no colon"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_line_by_itself_is_mended() {
        assert_eq!(
            told("title: Small: a study\n", 1),
            "1:13: a second colon in the line; put text that contains a colon in quotes"
        );
        assert_eq!(
            told("a: 1\ntitle:Small\n", 2),
            "2:6: no space after the colon; write `title: Small`"
        );
        assert_eq!(
            told("a: @home\n", 1),
            "1:4: text that begins with `@` has a meaning of its own; put it in quotes"
        );
        assert_eq!(
            told("a: \"so\" much\n", 1),
            "1:8: text after the closing quote; put all of it in the quotes, or none"
        );
        assert_eq!(
            told("a:\n  b: 1\n   c: 2\n", 3),
            "3:4: indented by 3, and the lines before by 0, 2; put keys of one block below each other"
        );
        assert_eq!(
            told("a: 1\nb\n", 2),
            "2:1: no colon; expected a key and its value, such as `title: Cooking together`"
        );
    }
}
