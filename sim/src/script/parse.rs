//! Reads the text of a script.

use std::str::FromStr;

use super::{Script, Turn, Until};

/// The words that end a role.
const KEYWORDS: [&str; 3] = ["until", "for", "to"];

/// What may follow a role.
const WAYS: &str = "`until \"note\"`, `until blocked`, `until holding \"kind\"`, `for N steps` or \
                    `to the end`";

/// What may follow `until`.
const ENDS: &str = "a note in quotes, `blocked` or `holding \"kind\"`";

/// Why a text is no script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("script line {line}: found {found}, but expected {allowed}{}", hint(.suggestion.as_deref()))]
pub struct ScriptError {
    /// The line, from 1.
    pub line: usize,
    /// What stands there.
    pub found: String,
    /// What may stand there.
    pub allowed: String,
    /// The keyword that was probably meant.
    pub suggestion: Option<String>,
}

fn hint(suggestion: Option<&str>) -> String {
    suggestion.map(|word| format!("; did you mean `{word}`?")).unwrap_or_default()
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Quoted(String),
}

impl FromStr for Script {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Self, ScriptError> {
        let mut script = Self::default();
        let mut seeded = false;
        for (i, line) in text.lines().enumerate() {
            let mut tokens = Line { line: i + 1, tokens: tokens(i + 1, line)?, at: 0 };
            if tokens.tokens.is_empty() {
                continue;
            }
            match tokens.seed()? {
                Some(seed) if !seeded && script.turns.is_empty() => {
                    (script.seed, seeded) = (seed, true);
                }
                Some(_) => {
                    let found = "another `seed`, or one after a turn";
                    return Err(tokens.error(found, "one `seed` line at the top", None));
                }
                None => script.turns.push(tokens.turn()?),
            }
        }
        Ok(script)
    }
}

impl FromStr for Turn {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Self, ScriptError> {
        let mut tokens = Line { line: 1, tokens: tokens(1, text)?, at: 0 };
        tokens.turn()
    }
}

/// Whether `role` reads as itself without quotes.
pub(super) fn is_plain_role(role: &str) -> bool {
    let spaced = role.split(' ').collect::<Vec<_>>();
    let is_word = |word: &&str| {
        let odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '#' | '\\');
        !word.is_empty() && !KEYWORDS.contains(word) && !word.contains(odd)
    };
    spaced.iter().all(is_word) && spaced[0] != "seed"
}

/// The tokens of one line, read from left to right.
struct Line {
    line: usize,
    tokens: Vec<Token>,
    at: usize,
}

impl Line {
    /// The seed, if this line gives it.
    fn seed(&self) -> Result<Option<u64>, ScriptError> {
        let is_keyword = |token: &Token| matches!(token, Token::Word(w) if is_keyword(w));
        if self.tokens[0] != Token::Word("seed".to_owned()) || self.tokens.iter().any(is_keyword) {
            return Ok(None);
        }
        let number = match &self.tokens[1..] {
            [Token::Word(number)] => parse_seed(number),
            _ => None,
        };
        let found = self.tokens[1..].iter().map(describe).collect::<Vec<_>>().join(" ");
        let found = if found.is_empty() { "the end of the line".to_owned() } else { found };
        number.map(Some).ok_or_else(|| self.error(&found, "one number after `seed`", None))
    }

    fn turn(&mut self) -> Result<Turn, ScriptError> {
        let role = self.role()?;
        let until = if self.take("until") {
            self.until()?
        } else if self.take("for") {
            self.steps()?
        } else if self.take("to") {
            self.expect("the")?;
            self.expect("end")?;
            Until::End
        } else {
            return Err(self.unexpected(WAYS, &KEYWORDS));
        };
        if self.at < self.tokens.len() {
            return Err(self.unexpected("the end of the line", &[]));
        }
        Ok(Turn { role, until })
    }

    /// A text in quotes, or the words up to the first keyword.
    fn role(&mut self) -> Result<String, ScriptError> {
        if let Some(role) = self.quoted() {
            return Ok(role);
        }
        let words: Vec<&str> = self.tokens.iter().map_while(plain_word).collect();
        if words.is_empty() {
            return Err(self.unexpected("the name of a task", &[]));
        }
        self.at = words.len();
        if !matches!(self.tokens.get(self.at), Some(Token::Word(_))) {
            // No keyword. Complain of the word that is most like one, or of what follows the name.
            let like_one = (1..words.len()).find(|&i| nearest(words[i], &KEYWORDS).is_some());
            self.at = like_one.unwrap_or(1);
            return Err(self.unexpected(WAYS, &KEYWORDS));
        }
        Ok(words.join(" "))
    }

    fn until(&mut self) -> Result<Until, ScriptError> {
        if let Some(text) = self.quoted() {
            return Ok(Until::Note(text));
        }
        if self.take("blocked") {
            return Ok(Until::Blocked);
        }
        if !self.take("holding") {
            return Err(self.unexpected(ENDS, &["blocked", "holding"]));
        }
        let Some(kind) = self.quoted() else {
            return Err(self.unexpected("a kind of lock in quotes", &[]));
        };
        if self.at == self.tokens.len() {
            return Ok(Until::Holding { kind, object: None });
        }
        self.expect("of")?;
        let Some(object) = self.quoted() else {
            return Err(self.unexpected("the name of an object in quotes", &[]));
        };
        Ok(Until::Holding { kind, object: Some(object) })
    }

    fn steps(&mut self) -> Result<Until, ScriptError> {
        let number = match self.tokens.get(self.at) {
            Some(Token::Word(word)) => word.parse().ok().filter(|n| *n > 0),
            _ => None,
        };
        let Some(number) = number else {
            return Err(self.unexpected("a number of steps, 1 or more", &[]));
        };
        self.at += 1;
        if !self.take("step") {
            self.expect("steps")?;
        }
        Ok(Until::Steps(number))
    }

    /// Goes past `keyword`, if it is next.
    fn take(&mut self, keyword: &str) -> bool {
        let is_next = matches!(self.tokens.get(self.at), Some(Token::Word(w)) if w == keyword);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, keyword: &str) -> Result<(), ScriptError> {
        if self.take(keyword) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{keyword}`"), &[keyword]))
    }

    /// The next token, if it is in quotes.
    fn quoted(&mut self) -> Option<String> {
        let Some(Token::Quoted(text)) = self.tokens.get(self.at) else { return None };
        self.at += 1;
        Some(text.clone())
    }

    /// The token at hand is not `allowed`.
    fn unexpected(&self, allowed: &str, keywords: &[&str]) -> ScriptError {
        let found = self.tokens.get(self.at).map(describe);
        let suggestion = match self.tokens.get(self.at) {
            Some(Token::Word(word)) => nearest(word, keywords),
            _ => None,
        };
        self.error(found.as_deref().unwrap_or("the end of the line"), allowed, suggestion)
    }

    fn error(&self, found: &str, allowed: &str, suggestion: Option<String>) -> ScriptError {
        let (found, allowed) = (found.to_owned(), allowed.to_owned());
        ScriptError { line: self.line, found, allowed, suggestion }
    }
}

fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// A word that can be part of a role.
fn plain_word(token: &Token) -> Option<&str> {
    match token {
        Token::Word(word) if !is_keyword(word) => Some(word),
        _ => None,
    }
}

fn describe(token: &Token) -> String {
    match token {
        Token::Word(word) => format!("`{word}`"),
        Token::Quoted(text) => format!("`{text:?}`"),
    }
}

fn parse_seed(number: &str) -> Option<u64> {
    match number.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => number.parse().ok(),
    }
}

/// Splits a line into words and texts in quotes, up to a comment.
fn tokens(line: usize, text: &str) -> Result<Vec<Token>, ScriptError> {
    let mut tokens = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(&c) = chars.peek() {
        match c {
            '#' => break,
            '"' => {
                chars.next();
                tokens.push(Token::Quoted(quoted_text(line, &mut chars)?));
            }
            _ if c.is_whitespace() => {
                chars.next();
            }
            _ => {
                let mut word = String::new();
                let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '#');
                while let Some(c) = chars.next_if(|&c| !ends(c)) {
                    word.push(c);
                }
                tokens.push(Token::Word(word));
            }
        }
    }
    Ok(tokens)
}

/// Reads up to the closing quote.
fn quoted_text(line: usize, chars: &mut impl Iterator<Item = char>) -> Result<String, ScriptError> {
    let error = |found: &str, allowed: &str| {
        let (found, allowed) = (found.to_owned(), allowed.to_owned());
        ScriptError { line, found, allowed, suggestion: None }
    };
    let mut text = String::new();
    loop {
        match chars.next() {
            Some('"') => return Ok(text),
            Some('\\') => match chars.next() {
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                Some('t') => text.push('\t'),
                Some(c @ ('"' | '\\')) => text.push(c),
                Some(c) => {
                    let allowed = "`\\\"`, `\\\\`, `\\n`, `\\r` or `\\t`";
                    return Err(error(&format!("`\\{c}`"), allowed));
                }
                None => return Err(error("the end of the line", "a closing quote")),
            },
            Some(c) => text.push(c),
            None => return Err(error("the end of the line", "a closing quote")),
        }
    }
}

/// The keyword that `word` was probably meant to be.
fn nearest(word: &str, keywords: &[&str]) -> Option<String> {
    let most = |keyword: &str| if keyword.len() <= 3 { 1 } else { 2 };
    let near = keywords.iter().map(|keyword| (distance(word, keyword), *keyword));
    let near = near.filter(|(distance, keyword)| *distance <= most(keyword));
    near.min().map(|(_, keyword)| keyword.to_owned())
}

/// Edits that lead from `a` to `b`: characters put in, left out or replaced.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, a) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
