//! A text cut at its placeholders.

/// Literal parts and placeholders, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Pieces(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Placeholder(String),
}

impl Pieces {
    /// Cuts a text.
    ///
    /// # Errors
    /// What is wrong with its braces.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (mut pieces, mut literal) = (Vec::new(), String::new());
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '{' | '}' if chars.peek() == Some(&c) => {
                    chars.next();
                    literal.push(c);
                }
                '}' => return Err("a `}` without `{`".to_owned()),
                '{' => {
                    let mut name = String::new();
                    loop {
                        match chars.next() {
                            Some('}') => break,
                            Some(c) if c.is_ascii_lowercase() || c == '_' => name.push(c),
                            _ => return Err(format!("`{{{name}` is no placeholder")),
                        }
                    }
                    if name.is_empty() {
                        return Err("`{}` is no placeholder".to_owned());
                    }
                    pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                    pieces.push(Piece::Placeholder(name));
                }
                c => literal.push(c),
            }
        }
        pieces.push(Piece::Literal(literal));
        pieces.retain(|piece| *piece != Piece::Literal(String::new()));
        Ok(Self(pieces))
    }

    /// The names of its placeholders.
    pub(super) fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Placeholder(name) => Some(name.as_str()),
            Piece::Literal(_) => None,
        })
    }

    /// The text with each placeholder replaced by its argument; one that is not given by nothing.
    pub(super) fn fill(&self, args: &[(&str, &str)]) -> String {
        self.0
            .iter()
            .map(|piece| match piece {
                Piece::Literal(text) => text.as_str(),
                Piece::Placeholder(name) => args.iter().find(|(arg, _)| arg == name).map_or("", |(_, value)| value),
            })
            .collect()
    }

    /// The literal words, with a space where a placeholder stands.
    pub(super) fn words(&self) -> String {
        self.0
            .iter()
            .map(|piece| match piece {
                Piece::Literal(text) => text.as_str(),
                Piece::Placeholder(_) => " ",
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn arguments_are_put_in_as_they_are() {
        let pieces = Pieces::parse("{{a}} {name}: {name}{other}").unwrap();
        assert_eq!(pieces.placeholders().collect::<Vec<_>>(), ["name", "name", "other"]);
        assert_eq!(pieces.fill(&[("name", "{other} {{x}}"), ("unused", "y")]), "{a} {other} {{x}}: {other} {{x}}");
        for text in ["{", "}", "{}", "{Name}", "{na me}", "{name", "a } b", "{{{"] {
            assert!(Pieces::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_said_by_doubling_its_braces(text in ".*") {
            let pieces = Pieces::parse(&text.replace('{', "{{").replace('}', "}}")).unwrap();
            prop_assert_eq!(pieces.fill(&[]), text);
        }

        #[test]
        fn any_argument_arrives_unchanged(value in ".*") {
            prop_assert_eq!(Pieces::parse("{x}").unwrap().fill(&[("x", &value)]), value);
        }
    }
}
