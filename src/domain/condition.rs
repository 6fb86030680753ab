//! The `when` of a field: a small language over the answers so far.
//!
//! `topic == 'other'`, `topic != 'tax'`, `topic in ['a', 'b']`, `answered(email)`, joined by `and`, `or`, `not` and
//! parentheses. A question that was not asked or was skipped equals nothing.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::answer::{Answer, Answers};

/// Words that mean something here and so cannot name a field.
pub const RESERVED: [&str; 5] = ["and", "or", "not", "in", "answered"];

/// Deepest nesting of parentheses and `not`: far above any real form, far below the stack.
const DEEPEST: usize = 32;

/// A parsed condition; stored as its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Condition {
    source: String,
    tree: Node,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Is { field: Word, any_of: Vec<Word> },
    Answered(Word),
    Not(Box<Self>),
    Both(Box<Self>, Box<Self>),
    Either(Box<Self>, Box<Self>),
}

/// A name or a literal with the column it stands at, in characters from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The text, without quotes.
    pub text: String,
    /// Where it begins.
    pub column: usize,
}

/// Why a text is no condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionError {
    /// Where, in characters from 1.
    pub column: usize,
    /// What is wrong and what was expected.
    pub what: String,
}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (column {})", self.what, self.column)
    }
}

impl std::error::Error for ConditionError {}

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    /// The first thing that cannot be read, with its column.
    pub fn parse(source: &str) -> Result<Self, ConditionError> {
        let tokens = tokens(source)?;
        let end = source.chars().count() + 1;
        let mut parser = Parser { tokens: &tokens, at: 0, end, depth: 0 };
        let tree = parser.either()?;
        match parser.peek() {
            None => Ok(Self { source: source.to_owned(), tree }),
            Some(_) => Err(parser.unexpected("`and`, `or` or the end")),
        }
    }

    /// The text it was read from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether it holds for these answers.
    #[must_use]
    pub fn holds(&self, answers: &Answers) -> bool {
        self.tree.holds(answers)
    }

    /// The fields it asks about, in order of appearance.
    #[must_use]
    pub fn fields(&self) -> Vec<&Word> {
        let mut found = Vec::new();
        self.tree.walk(&mut |node| match node {
            Node::Is { field, .. } | Node::Answered(field) => found.push(field),
            _ => {}
        });
        found
    }

    /// The literals it compares with, each beside its field, in order of appearance.
    #[must_use]
    pub fn literals(&self) -> Vec<(&Word, &Word)> {
        let mut found = Vec::new();
        self.tree.walk(&mut |node| {
            if let Node::Is { field, any_of } = node {
                found.extend(any_of.iter().map(|literal| (field, literal)));
            }
        });
        found
    }
}

impl TryFrom<String> for Condition {
    type Error = ConditionError;

    fn try_from(source: String) -> Result<Self, ConditionError> {
        Self::parse(&source)
    }
}

impl From<Condition> for String {
    fn from(condition: Condition) -> Self {
        condition.source
    }
}

impl Node {
    fn holds(&self, answers: &Answers) -> bool {
        match self {
            Self::Is { field, any_of } => {
                let given = answers.get(&field.text).and_then(Answer::compared);
                given.is_some_and(|given| any_of.iter().any(|literal| literal.text == given))
            }
            Self::Answered(field) => answers.get(&field.text).and_then(Answer::compared).is_some(),
            Self::Not(inner) => !inner.holds(answers),
            Self::Both(a, b) => a.holds(answers) && b.holds(answers),
            Self::Either(a, b) => a.holds(answers) || b.holds(answers),
        }
    }

    fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Self)) {
        visit(self);
        match self {
            Self::Not(inner) => inner.walk(visit),
            Self::Both(a, b) | Self::Either(a, b) => {
                a.walk(visit);
                b.walk(visit);
            }
            Self::Is { .. } | Self::Answered(_) => {}
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Name(String),
    Literal(String),
    Sign(&'static str),
}

fn tokens(source: &str) -> Result<Vec<(usize, Token)>, ConditionError> {
    let chars: Vec<char> = source.chars().collect();
    let wrong = |at: usize, what: &str| ConditionError { column: at + 1, what: what.to_owned() };
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let start = at;
        at += 1;
        let token = match c {
            c if c.is_whitespace() => continue,
            '(' => Token::Sign("("),
            ')' => Token::Sign(")"),
            '[' => Token::Sign("["),
            ']' => Token::Sign("]"),
            ',' => Token::Sign(","),
            '=' | '!' if chars.get(at) == Some(&'=') => {
                at += 1;
                Token::Sign(if c == '=' { "==" } else { "!=" })
            }
            '=' => return Err(wrong(start, "`=` compares nothing; write `==`")),
            '!' => return Err(wrong(start, "write `not` or `!=`")),
            '&' => return Err(wrong(start, "write `and`")),
            '|' => return Err(wrong(start, "write `or`")),
            '\'' | '"' => {
                let rest = chars.get(at..).unwrap_or_default();
                let length =
                    rest.iter().position(|x| *x == c).ok_or_else(|| wrong(start, "this quote is never closed"))?;
                at += length + 1;
                Token::Literal(rest.iter().take(length).collect())
            }
            c if is_name(c) => {
                while chars.get(at).copied().is_some_and(is_name) {
                    at += 1;
                }
                Token::Name(chars.iter().take(at).skip(start).collect())
            }
            c => return Err(wrong(start, &format!("`{c}` has no meaning here"))),
        };
        found.push((start + 1, token));
    }
    Ok(found)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

struct Parser<'t> {
    tokens: &'t [(usize, Token)],
    at: usize,
    end: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(_, token)| token)
    }

    fn unexpected(&self, wanted: &str) -> ConditionError {
        let (column, got) = match self.tokens.get(self.at) {
            None => (self.end, "the end".to_owned()),
            Some((column, Token::Name(name))) => (*column, format!("`{name}`")),
            Some((column, Token::Literal(text))) => (*column, format!("'{text}'")),
            Some((column, Token::Sign(sign))) => (*column, format!("`{sign}`")),
        };
        ConditionError { column, what: format!("expected {wanted}, found {got}") }
    }

    /// Takes the next token if it is this word or sign.
    fn eat(&mut self, wanted: &str) -> bool {
        let found = match self.peek() {
            Some(Token::Name(name)) => name == wanted,
            Some(Token::Sign(sign)) => *sign == wanted,
            _ => false,
        };
        self.at += usize::from(found);
        found
    }

    fn demand(&mut self, wanted: &str) -> Result<(), ConditionError> {
        if self.eat(wanted) { Ok(()) } else { Err(self.unexpected(&format!("`{wanted}`"))) }
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, ConditionError>) -> Result<T, ConditionError> {
        if self.depth == DEEPEST {
            return Err(self.unexpected("less nesting"));
        }
        self.depth += 1;
        let done = read(self);
        self.depth -= 1;
        done
    }

    fn either(&mut self) -> Result<Node, ConditionError> {
        let mut node = self.both()?;
        let mut joined = 0;
        while self.eat("or") {
            joined = self.bounded(joined)?;
            node = Node::Either(Box::new(node), Box::new(self.both()?));
        }
        Ok(node)
    }

    fn both(&mut self) -> Result<Node, ConditionError> {
        let mut node = self.one()?;
        let mut joined = 0;
        while self.eat("and") {
            joined = self.bounded(joined)?;
            node = Node::Both(Box::new(node), Box::new(self.one()?));
        }
        Ok(node)
    }

    /// A long chain is a deep tree too.
    fn bounded(&self, joined: usize) -> Result<usize, ConditionError> {
        if joined == 8 * DEEPEST { Err(self.unexpected("a shorter condition")) } else { Ok(joined + 1) }
    }

    fn one(&mut self) -> Result<Node, ConditionError> {
        if self.eat("not") {
            return self.deeper(Self::one).map(|node| Node::Not(Box::new(node)));
        }
        if self.eat("(") {
            let node = self.deeper(Self::either)?;
            self.demand(")")?;
            return Ok(node);
        }
        if self.eat("answered") {
            self.demand("(")?;
            let field = self.field()?;
            self.demand(")")?;
            return Ok(Node::Answered(field));
        }
        let field = self.field()?;
        if self.eat("==") {
            return Ok(Node::Is { field, any_of: vec![self.literal()?] });
        }
        if self.eat("!=") {
            return Ok(Node::Not(Box::new(Node::Is { field, any_of: vec![self.literal()?] })));
        }
        let negated = self.eat("not");
        if self.eat("in") {
            let node = Node::Is { field, any_of: self.list()? };
            return Ok(if negated { Node::Not(Box::new(node)) } else { node });
        }
        Err(self.unexpected("`==`, `!=` or `in`"))
    }

    fn field(&mut self) -> Result<Word, ConditionError> {
        match self.tokens.get(self.at) {
            Some((column, Token::Name(name))) if !RESERVED.contains(&name.as_str()) => {
                self.at += 1;
                Ok(Word { text: name.clone(), column: *column })
            }
            _ => Err(self.unexpected("a field's id")),
        }
    }

    fn literal(&mut self) -> Result<Word, ConditionError> {
        match self.tokens.get(self.at) {
            Some((column, Token::Literal(text))) => {
                self.at += 1;
                Ok(Word { text: text.clone(), column: *column })
            }
            Some((column, Token::Name(name))) => match name.parse::<i64>() {
                Ok(number) => {
                    self.at += 1;
                    Ok(Word { text: number.to_string(), column: *column })
                }
                Err(_) => Err(self.unexpected("a value in quotes")),
            },
            _ => Err(self.unexpected("a value in quotes")),
        }
    }

    fn list(&mut self) -> Result<Vec<Word>, ConditionError> {
        self.demand("[")?;
        let mut values = vec![self.literal()?];
        while self.eat(",") {
            values.push(self.literal()?);
        }
        self.demand("]")?;
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answers() -> Answers {
        let mut answers = Answers::new();
        answers.set("topic", Answer::Choice { id: "tax".into(), label: "Налоги".into(), price: None });
        answers.set("age", Answer::Number(18));
        answers.set("name", Answer::Text("Аня".into()));
        answers.set("email", Answer::Skipped);
        answers
    }

    #[test]
    fn conditions_are_read_as_people_mean_them() {
        for (source, holds) in [
            ("topic == 'tax'", true),
            ("topic == \"other\"", false),
            ("topic != 'other'", true),
            ("topic in ['other', 'tax']", true),
            ("topic not in ['tax']", false),
            ("age == 18", true),
            ("name == 'Аня'", true),
            ("answered(name)", true),
            ("answered(email)", false),
            ("email == ''", false),
            ("nothing != 'x'", true),
            ("not topic == 'tax'", false),
            ("topic == 'tax' and age == 17 or name == 'Аня'", true),
            ("topic == 'tax' and (age == 17 or name == 'Оля')", false),
            ("not (topic == 'other' or answered(email))", true),
        ] {
            let condition = Condition::parse(source).unwrap();
            assert_eq!(condition.holds(&answers()), holds, "{source}");
        }
    }

    #[test]
    fn mistakes_are_named_with_their_column() {
        let said: Vec<String> = [
            "",
            "topic",
            "topic = 'x'",
            "topic == other",
            "topic == 'x",
            "topic == 'x' && a == 'b'",
            "(topic == 'x'",
            "topic in []",
            "topic == 'x' y",
            "and == 'x'",
            "тема == 'x' или",
            "answered()",
            "topic == 'x' or",
        ]
        .map(|source| format!("{source} → {}", Condition::parse(source).unwrap_err()))
        .into();
        insta::assert_snapshot!(said.join("\n"), @r"
         → expected a field's id, found the end (column 1)
        topic → expected `==`, `!=` or `in`, found the end (column 6)
        topic = 'x' → `=` compares nothing; write `==` (column 7)
        topic == other → expected a value in quotes, found `other` (column 10)
        topic == 'x → this quote is never closed (column 10)
        topic == 'x' && a == 'b' → write `and` (column 14)
        (topic == 'x' → expected `)`, found the end (column 14)
        topic in [] → expected a value in quotes, found `]` (column 11)
        topic == 'x' y → expected `and`, `or` or the end, found `y` (column 14)
        and == 'x' → expected a field's id, found `and` (column 1)
        тема == 'x' или → expected `and`, `or` or the end, found `или` (column 13)
        answered() → expected a field's id, found `)` (column 10)
        topic == 'x' or → expected a field's id, found the end (column 16)
        ");
    }

    #[test]
    fn a_condition_nested_or_chained_without_end_is_refused() {
        assert!(Condition::parse(&format!("{}a == '1'{}", "(".repeat(5000), ")".repeat(5000))).is_err());
        assert!(Condition::parse(&format!("{}a == '1'", "not ".repeat(5000))).is_err());
        assert!(Condition::parse(&format!("a == '1'{}", " and a == '1'".repeat(5000))).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_without_harm(source in "[a-c'\"=!()\\[\\], andotri]{0,60}") {
            if let Ok(condition) = Condition::parse(&source) {
                let _ = condition.holds(&answers());
                let stored = serde_json::to_string(&condition).unwrap();
                prop_assert_eq!(serde_json::from_str::<Condition>(&stored).unwrap(), condition);
            }
        }
    }
}
