//! Parses the text of a formula into its parts, with their places.
//!
//! The `cel` crate reads the text. Its offsets and messages stay in this module: it refuses what cannot be part of a
//! formula in words for authors, and the rest becomes [`Written`].

use cel::Env;
use cel::common::ast::{Expr, IdedExpr, LiteralValue, SourceInfo, operators};
use cel::parser::ParseError;
use formula::Op;

/// The most brackets inside each other. The parser takes stack for each, up to 30 KB.
const MAX_NESTING: usize = 24;

/// The greatest whole number up to which all are exact as `f64`.
const MAX_WHOLE: u64 = 1 << 53;

/// A part of a formula and where it stands, in bytes from the start of the text.
#[derive(Debug)]
pub(super) struct Written {
    /// Its first character.
    pub start: usize,
    /// The position of the operator, or of the name of a field or function.
    pub at: usize,
    pub what: What,
}

#[derive(Debug)]
pub(super) enum What {
    Bool(bool),
    Number(f64),
    Text(String),
    Name(String),
    List(Vec<Written>),
    Field(Box<Written>, String),
    /// An operator with its operands, in order.
    Operator(Op, Vec<Written>),
    /// A function: the part before the dot, its name, the arguments in the brackets.
    Call(Option<Box<Written>>, String, Vec<Written>),
}

/// An error in a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Its place, in bytes from the start of the text.
    pub at: usize,
    /// The error and its fix.
    pub message: String,
}

impl Fault {
    pub(super) fn new(at: usize, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
        }
    }
}

/// Parses a formula, or returns the first part that is not one.
pub(super) fn parse(text: &str) -> Result<Written, Fault> {
    if text.trim().is_empty() {
        return Err(Fault::new(0, "there is no formula here"));
    }
    brackets(text)?;
    // An environment without macros: `map` and its like are left as calls, whose parts know where they stand.
    match Env::default().parser().parse_with_source_info(text) {
        Ok((expr, info)) => Reader { text, info: &info }.read(expr),
        Err(errors) => Err(explain(text, &errors.errors)),
    }
}

/// Looks over a text before it is parsed: brackets and quotes that have no end, and what would be read otherwise than
/// authors mean it.
fn brackets(text: &str) -> Result<(), Fault> {
    let bytes = text.as_bytes();
    let mut open: Vec<(usize, u8)> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        match byte {
            b'"' | b'\'' => {
                at = quoted(text, at)?;
                continue;
            }
            b'(' | b'[' | b'{' if open.len() == MAX_NESTING => {
                let message = format!(
                    "more than {MAX_NESTING} brackets inside each other; write less in one formula"
                );
                return Err(Fault::new(at, message));
            }
            b'(' => open.push((at, b')')),
            b'[' => open.push((at, b']')),
            b'{' => open.push((at, b'}')),
            b')' | b']' | b'}' if open.pop().is_none_or(|(_, close)| close != byte) => {
                let message = format!(
                    "`{}` closes nothing that is open here; remove it, or open it before",
                    char::from(byte)
                );
                return Err(Fault::new(at, message));
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                return Err(Fault::new(
                    at,
                    "`//` would begin a comment; write `floor(a / b)` to divide without a rest",
                ));
            }
            _ => {}
        }
        at += 1;
    }
    match open.pop() {
        None => Ok(()),
        Some((at, close)) => {
            let message = format!(
                "`{}` is not closed; write `{}` where it ends",
                char::from(bytes[at]),
                char::from(close)
            );
            Err(Fault::new(at, message))
        }
    }
}

/// The end of a text in quotes.
fn quoted(text: &str, start: usize) -> Result<usize, Fault> {
    let bytes = text.as_bytes();
    let quote = bytes[start];
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    if at >= bytes.len() {
        return Err(Fault::new(
            start,
            "the text that begins here has no end; close it with the same quote",
        ));
    }
    let before = start.checked_sub(1).map(|before| bytes[before]);
    if before.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        || bytes.get(at + 1) == Some(&quote)
    {
        return Err(Fault::new(
            start,
            "text stands in plain quotes: \"ring\" or 'ring'",
        ));
    }
    Ok(at + 1)
}

/// Puts the first message of the parser into words.
fn explain(text: &str, errors: &[ParseError]) -> Fault {
    // An incomplete formula has an error that says where it ends.
    let vague =
        |error: &&ParseError| error.msg.starts_with("Incomplete") || error.msg.starts_with("No `");
    let error = errors.iter().find(|error| !vague(error)).or(errors.first());
    let (at, message) = error.map_or((0, ""), |error| {
        (offset(text, error.pos), error.msg.as_str())
    });
    let rest = text[at..].trim_start();
    let at = text.len() - rest.len();
    let word = word(rest);
    let before = text[..at].trim_end();
    let last = before
        .rsplit(|c: char| !is_name(c))
        .next()
        .unwrap_or_default();
    let mend = match word {
        "" if message.contains("':'") || before.contains('?') => {
            "the formula ends too early; after `?` come two values: `a ? b : c`".into()
        }
        "" => "the formula ends too early; something is missing at its end".into(),
        "and" | "AND" => "`and` is not an operator; write `&&`".into(),
        "or" | "OR" => "`or` is not an operator; write `||`".into(),
        _ if last == "not" => {
            return Fault::new(before.len() - 3, "`not` is not an operator; write `!`");
        }
        "if" | "else" => {
            format!("`{word}` is not read in formulas; write `condition ? value : other value`")
        }
        _ if message.starts_with("reserved") => {
            format!("`{word}` is a reserved word; use another name")
        }
        _ if message.starts_with("invalid") => {
            format!("`{word}` is not a number that can be exact; write a smaller one")
        }
        "=" if rest.starts_with("=>") => "`=>` is not an operator; write `>=`".into(),
        "=" if rest.starts_with("=<") => "`=<` is not an operator; write `<=`".into(),
        "=" => "`=` is not an operator; write `==` to compare".into(),
        "&" => "`&` is not an operator; write `&&`".into(),
        "|" => "`|` is not an operator; write `||`".into(),
        ">" if before.ends_with('<') => "`<>` is not an operator; write `!=`".into(),
        "^" => "`^` is not an operator; write a product such as `x * x`".into(),
        "*" if before.ends_with('*') => {
            "`**` is not an operator; write a product such as `x * x`".into()
        }
        "{" | "}" => "braces are not read in formulas; a formula has no records of its own".into(),
        _ if !word.is_ascii() => format!(
            "`{word}` is not read outside quotes; names have the letters a to z, digits and `_`"
        ),
        _ => format!(
            "`{word}` is not expected here; check the operators, quotes and commas before it"
        ),
    };
    Fault::new(at, mend)
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The word or the character that a text begins with.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !is_name(c)).unwrap_or(text.len());
    let first = text.chars().next().map_or(0, char::len_utf8);
    &text[..end.max(first)]
}

/// The byte of a line and column, both from 1; columns count characters.
fn offset(text: &str, (line, column): (isize, isize)) -> usize {
    let before = usize::try_from(line - 1).unwrap_or(0);
    let start: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
    let column = usize::try_from(column - 1).unwrap_or(0);
    text[start..]
        .char_indices()
        .nth(column)
        .map_or(text.len(), |(byte, _)| start + byte)
}

struct Reader<'a> {
    text: &'a str,
    info: &'a SourceInfo,
}

impl Reader<'_> {
    /// Returns the place of a node's token.
    fn token(&self, id: u64) -> usize {
        let start = self
            .info
            .offset_for(id)
            .map_or(0, |(start, _)| start as usize);
        let start = start.min(self.text.len());
        (0..=start)
            .rev()
            .find(|at| self.text.is_char_boundary(*at))
            .unwrap_or(0)
    }

    /// Returns the place of the name before a bracket.
    fn name(&self, bracket: usize) -> usize {
        let before = self.text[..bracket].trim_end();
        before.trim_end_matches(is_name).len()
    }

    fn read(&self, node: IdedExpr) -> Result<Written, Fault> {
        let at = self.token(node.id);
        let one = |what| {
            Ok(Written {
                start: at,
                at,
                what,
            })
        };
        let refuse = |message: &str| Err(Fault::new(at, message));
        match node.expr {
            Expr::Literal(literal) => self.literal(at, literal),
            Expr::Ident(name) if name.starts_with('.') => {
                refuse("a name cannot begin with `.`; remove it")
            }
            Expr::Ident(name) => one(What::Name(name)),
            Expr::List(list) => one(What::List(self.all(list.elements)?)),
            Expr::Select(select) => {
                let of = self.read(*select.operand)?;
                let dot = self.text[at..].trim_start_matches('.');
                let at = self.text.len() - dot.trim_start().len();
                let (start, of) = (of.start, Box::new(of));
                Ok(Written {
                    start,
                    at,
                    what: What::Field(of, select.field),
                })
            }
            Expr::Call(call) => match operator(&call.func_name) {
                Some(op) => {
                    let args = self.all(call.args)?;
                    let start = args.first().map_or(at, |first| first.start.min(at));
                    Ok(Written {
                        start,
                        at,
                        what: What::Operator(op, args),
                    })
                }
                None => {
                    let at = self.name(at);
                    let of = call.target.map(|target| self.read(*target)).transpose()?;
                    let start = of.as_ref().map_or(at, |of| of.start);
                    let args = self.all(call.args)?;
                    let what = What::Call(of.map(Box::new), call.func_name, args);
                    Ok(Written { start, at, what })
                }
            },
            Expr::Map(_) | Expr::Struct(_) => {
                refuse("records cannot be written in a formula; name their fields one by one")
            }
            Expr::Comprehension(_) | Expr::Unspecified => refuse("this is not read in formulas"),
        }
    }

    fn all(&self, nodes: Vec<IdedExpr>) -> Result<Vec<Written>, Fault> {
        nodes.into_iter().map(|node| self.read(node)).collect()
    }

    /// A constant. Whole numbers are numbers like any other.
    fn literal(&self, at: usize, literal: LiteralValue) -> Result<Written, Fault> {
        let whole = |size: u64, sign: f64| {
            #[allow(clippy::cast_precision_loss, reason = "at most 2^53")]
            let number = (size <= MAX_WHOLE).then_some(size as f64 * sign);
            number.map(What::Number).ok_or_else(|| {
                Fault::new(
                    at,
                    "whole numbers are exact up to 2^53; write a smaller one",
                )
            })
        };
        let what = match literal {
            LiteralValue::Boolean(flag) => What::Bool(*flag.inner()),
            LiteralValue::Double(number) => What::Number(*number.inner()),
            LiteralValue::Int(int) if *int.inner() < 0 => whole(int.inner().unsigned_abs(), -1.0)?,
            LiteralValue::Int(int) => whole(int.inner().unsigned_abs(), 1.0)?,
            LiteralValue::UInt(int) => whole(*int.inner(), 1.0)?,
            LiteralValue::String(text) => What::Text(text.inner().to_owned()),
            LiteralValue::Null => {
                return Err(Fault::new(
                    at,
                    "there is no `null`; ask `has(record.field)` whether something is there",
                ));
            }
            LiteralValue::Bytes(_) => {
                return Err(Fault::new(
                    at,
                    "text stands in plain quotes: \"ring\" or 'ring'",
                ));
            }
        };
        Ok(Written {
            start: at,
            at,
            what,
        })
    }
}

fn operator(name: &str) -> Option<Op> {
    Some(match name {
        operators::CONDITIONAL => Op::If,
        operators::LOGICAL_AND => Op::And,
        operators::LOGICAL_OR => Op::Or,
        operators::LOGICAL_NOT => Op::Not,
        operators::SUBSTRACT => Op::Subtract,
        operators::ADD => Op::Add,
        operators::MULTIPLY => Op::Multiply,
        operators::DIVIDE => Op::Divide,
        operators::MODULO => Op::Remainder,
        operators::EQUALS => Op::Equal,
        operators::NOT_EQUALS => Op::NotEqual,
        operators::GREATER_EQUALS => Op::GreaterEqual,
        operators::LESS_EQUALS => Op::LessEqual,
        operators::GREATER => Op::Greater,
        operators::LESS => Op::Less,
        operators::NEGATE => Op::Negate,
        operators::INDEX => Op::Index,
        operators::IN => Op::In,
        _ => return None,
    })
}
