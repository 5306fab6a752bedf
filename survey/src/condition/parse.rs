//! From the text of a condition to its parts.

use serde_json::{Number, Value};

use super::{ConditionFault, MAX_LENGTH, Op, Term};

/// The most parts inside each other.
const MAX_NESTING: usize = 24;

/// A token of a condition.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// A name in braces.
    Name(String),
    /// Text in quotes.
    Quoted(String),
    /// A word or a number.
    Word(String),
    /// An operator or a bracket.
    Sign(&'static str),
}

/// Longer ones first.
const SIGNS: [&str; 23] = [
    "!==", "===", "<=", ">=", "<>", "!=", "==", "*=", "&&", "||", "=", "<", ">", "!", "+", "-",
    "*", "/", "%", "(", ")", "[", "]",
];

/// How tightly operators bind, and what they are called.
const OPERATORS: [(&str, Op, u8); 38] = [
    ("or", Op::Or, 1),
    ("||", Op::Or, 1),
    ("and", Op::And, 2),
    ("&&", Op::And, 2),
    ("=", Op::Equal, 3),
    ("==", Op::Equal, 3),
    ("===", Op::Equal, 3),
    ("equal", Op::Equal, 3),
    ("<>", Op::Unequal, 3),
    ("!=", Op::Unequal, 3),
    ("!==", Op::Unequal, 3),
    ("notequal", Op::Unequal, 3),
    ("<", Op::Less, 3),
    ("less", Op::Less, 3),
    ("<=", Op::LessOrEqual, 3),
    ("lessorequal", Op::LessOrEqual, 3),
    (">", Op::Greater, 3),
    ("greater", Op::Greater, 3),
    (">=", Op::GreaterOrEqual, 3),
    ("greaterorequal", Op::GreaterOrEqual, 3),
    ("contains", Op::Contains, 3),
    ("contain", Op::Contains, 3),
    ("*=", Op::Contains, 3),
    ("notcontains", Op::ContainsNot, 3),
    ("notcontain", Op::ContainsNot, 3),
    ("anyof", Op::AnyOf, 3),
    ("allof", Op::AllOf, 3),
    ("noneof", Op::NoneOf, 3),
    ("+", Op::Add, 4),
    ("plus", Op::Add, 4),
    ("-", Op::Subtract, 4),
    ("minus", Op::Subtract, 4),
    ("*", Op::Multiply, 5),
    ("mul", Op::Multiply, 5),
    ("/", Op::Divide, 5),
    ("div", Op::Divide, 5),
    ("%", Op::Remainder, 5),
    ("mod", Op::Remainder, 5),
];

const KNOWN: &str = "known here: = <> < <= > >= contains notcontains anyof allof noneof empty notempty \
                     and or ! + - * / %";

pub(super) fn parse(text: &str) -> Result<(Term, Vec<(String, usize)>), ConditionFault> {
    if text.trim().is_empty() {
        return Err(fault(0, "there is no condition here"));
    }
    if text.chars().count() > MAX_LENGTH {
        return Err(fault(
            0,
            format!("more than {MAX_LENGTH} characters; write less in one condition"),
        ));
    }
    let tokens = tokens(text)?;
    let mut parser = Parser {
        tokens,
        at: 0,
        end: text.len(),
        names: Vec::new(),
    };
    let root = parser.term(0, 0)?;
    match parser.peek() {
        None => Ok((root, parser.names)),
        Some(token) => {
            let message = match token {
                Token::Sign(sign @ (")" | "]")) => {
                    format!("`{sign}` closes nothing that is open here; remove it")
                }
                Token::Word(word) => format!("`{word}` is not an operator; {KNOWN}"),
                _ => format!("an operator is missing before this; {KNOWN}"),
            };
            Err(fault(parser.place(), message))
        }
    }
}

fn negative(number: &Number) -> Value {
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => Value::from(-whole),
        (_, Some(float)) => Value::from(-float),
        _ => Value::Null,
    }
}

fn fault(at: usize, message: impl Into<String>) -> ConditionFault {
    ConditionFault {
        at,
        message: message.into(),
    }
}

/// Tokens with the bytes at which they stand.
fn tokens(text: &str) -> Result<Vec<(Token, usize)>, ConditionFault> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (token, length) = match first {
            ' ' | '\t' | '\n' | '\r' => {
                at += 1;
                continue;
            }
            '{' => {
                let end = rest.find('}').ok_or_else(|| {
                    fault(
                        at,
                        "`{` is not closed; write `}` after the name of the question",
                    )
                })?;
                (Token::Name(rest[1..end].trim().to_owned()), end + 1)
            }
            '"' | '\'' => {
                let end = rest[1..].find(first).ok_or_else(|| {
                    fault(
                        at,
                        "the text that begins here has no end; close it with the same quote",
                    )
                })?;
                (Token::Quoted(rest[1..=end].to_owned()), end + 2)
            }
            c if c.is_alphanumeric() || matches!(c, '_' | '.' | '#') => {
                let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '#');
                let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                (Token::Word(rest[..end].to_owned()), end)
            }
            ',' => (Token::Sign(","), 1),
            c => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(sign) => (Token::Sign(sign), sign.len()),
                None => {
                    return Err(fault(
                        at,
                        format!("`{c}` is not read in conditions; {KNOWN}"),
                    ));
                }
            },
        };
        tokens.push((token, at));
        at += length;
    }
    Ok(tokens)
}

struct Parser {
    tokens: Vec<(Token, usize)>,
    at: usize,
    end: usize,
    names: Vec<(String, usize)>,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    /// The byte of the next token.
    fn place(&self) -> usize {
        self.tokens.get(self.at).map_or(self.end, |(_, at)| *at)
    }

    /// Takes a sign, if it is next.
    fn takes(&mut self, sign: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Token::Sign(next)) if *next == sign);
        self.at += usize::from(is_next);
        is_next
    }

    /// The operator that is next.
    fn operator(&self) -> Option<(Op, u8)> {
        let word = match self.peek()? {
            Token::Sign(sign) => *sign,
            Token::Word(word) => word,
            _ => return None,
        };
        let known = OPERATORS
            .iter()
            .find(|(name, ..)| name.eq_ignore_ascii_case(word));
        known.map(|(_, op, binding)| (*op, *binding))
    }

    /// A part whose operators bind at least as tightly.
    fn term(&mut self, least: u8, depth: usize) -> Result<Term, ConditionFault> {
        let mut left = self.one(depth)?;
        loop {
            if let Some(empty) = self.emptiness() {
                left = empty(left);
                continue;
            }
            let Some((op, binding)) = self.operator().filter(|(_, binding)| *binding >= least)
            else {
                return Ok(left);
            };
            self.at += 1;
            let right = self.term(binding + 1, depth + 1)?;
            left = Term::Both(op, Box::new(left), Box::new(right));
        }
    }

    /// Reads `empty` or `notempty`, after its operand.
    fn emptiness(&mut self) -> Option<fn(Term) -> Term> {
        let Some(Token::Word(word)) = self.peek() else {
            return None;
        };
        let empty: fn(Term) -> Term = match word.to_ascii_lowercase().as_str() {
            "empty" => |of| Term::Empty(Box::new(of)),
            "notempty" => |of| Term::Not(Box::new(Term::Empty(Box::new(of)))),
            _ => return None,
        };
        self.at += 1;
        Some(empty)
    }

    fn one(&mut self, depth: usize) -> Result<Term, ConditionFault> {
        let at = self.place();
        if depth > MAX_NESTING {
            let message = format!(
                "more than {MAX_NESTING} parts inside each other; write less in one condition"
            );
            return Err(fault(at, message));
        }
        if self.takes("!") {
            let of = self.term(4, depth + 1)?;
            return Ok(Term::Not(Box::new(of)));
        }
        if self.takes("-") {
            let of = self.term(6, depth + 1)?;
            let zero = Term::Value(Value::from(0));
            return Ok(match of {
                Term::Value(Value::Number(number)) => Term::Value(negative(&number)),
                of => Term::Both(Op::Subtract, Box::new(zero), Box::new(of)),
            });
        }
        if self.takes("(") {
            let inner = self.term(0, depth + 1)?;
            return match self.takes(")") {
                true => Ok(inner),
                false => Err(fault(at, "`(` is not closed; write `)` where it ends")),
            };
        }
        if self.takes("[") {
            return self.list(at, depth);
        }
        let Some(token) = self.peek().cloned() else {
            return Err(fault(
                at,
                "the condition ends too early; something is missing at its end",
            ));
        };
        self.at += 1;
        match token {
            Token::Name(name) if name.is_empty() => Err(fault(
                at,
                "the braces are empty; write the name of a question in them",
            )),
            Token::Name(name) => {
                self.names.push((name.clone(), at + 1));
                Ok(Term::Answer(name))
            }
            Token::Quoted(text) => Ok(Term::Value(Value::String(text))),
            Token::Word(word) => self.word(word, at),
            Token::Sign(sign) => Err(fault(at, format!("`{sign}` is not expected here; {KNOWN}"))),
        }
    }

    /// A word as a value, as SurveyJS takes it: a number, true or false, or text.
    fn word(&mut self, word: String, at: usize) -> Result<Term, ConditionFault> {
        if matches!(self.peek(), Some(Token::Sign("("))) {
            return Err(fault(
                at,
                format!(
                    "there are no functions in conditions, so `{word}(…)` is not read; {KNOWN}"
                ),
            ));
        }
        let is_operator = OPERATORS
            .iter()
            .any(|(name, ..)| name.eq_ignore_ascii_case(&word));
        if is_operator {
            return Err(fault(
                at,
                format!("`{word}` needs something before it; put text in quotes: '{word}'"),
            ));
        }
        let whole = word.parse::<i64>().ok().map(Number::from);
        let number = whole.or_else(|| {
            let digits = word.starts_with(|c: char| c.is_ascii_digit());
            let number = word.parse::<f64>().ok().filter(|_| digits)?;
            Number::from_f64(number)
        });
        Ok(Term::Value(match (word.as_str(), number) {
            ("true", _) => Value::Bool(true),
            ("false", _) => Value::Bool(false),
            (_, Some(number)) => Value::Number(number),
            _ => Value::String(word),
        }))
    }

    /// The values up to `]`.
    fn list(&mut self, at: usize, depth: usize) -> Result<Term, ConditionFault> {
        let mut values = Vec::new();
        while !self.takes("]") {
            let place = self.place();
            match self.one(depth + 1) {
                Ok(Term::Value(value)) => values.push(value),
                Ok(_) => {
                    return Err(fault(
                        place,
                        "a list has texts and numbers only, such as ['pot', 'plate']",
                    ));
                }
                Err(_) if self.peek().is_none() => {
                    return Err(fault(
                        at,
                        "`[` is not closed; write `]` where the list ends",
                    ));
                }
                Err(other) => return Err(other),
            }
            self.takes(",");
        }
        Ok(Term::Value(Value::Array(values)))
    }
}
