//! Rust source as the layout test needs it: which paths a file names and on which lines, and how many of its lines
//! go into production. A lexer and a reader of `use` trees, no more: comments, literals and test-only items are
//! out of the way before a path is looked for.

use std::ops::RangeInclusive;

/// One file, named from the package's root with forward slashes: `src/store/mod.rs`.
#[derive(Debug)]
pub(super) struct Source<'a> {
    pub(super) path: &'a str,
    pub(super) text: &'a str,
}

/// A path that production code names, from its root: `["crate", "store", "Store"]` or `["tokio", "fs"]`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) line: usize,
    pub(super) segments: Vec<String>,
}

/// What the layout test asks of one file.
#[derive(Debug)]
pub(super) struct Read {
    /// Paths named outside test-only items; those that begin with a local name are left out.
    pub(super) named: Vec<Named>,
    /// Lines outside test-only items.
    pub(super) production_lines: usize,
    /// Modules declared for tests alone (`#[cfg(test)] mod name;`): their files are no production files.
    pub(super) test_modules: Vec<String>,
}

/// Reads one file. `externs` are the names by which other packages are known.
pub(super) fn read(source: &Source<'_>, externs: &[&str]) -> Read {
    let tokens = lex(source.text);
    let (tokens, skipped, test_modules) = without_tests(tokens);
    let in_tests: usize = skipped.iter().map(|lines| lines.end() - lines.start() + 1).sum();
    Read {
        named: paths(&tokens, &module_of(source.path), externs),
        production_lines: source.text.lines().count().saturating_sub(in_tests),
        test_modules,
    }
}

/// The module a file holds: `src/a/b.rs` and `src/a/b/mod.rs` are `["a", "b"]`, the roots are empty.
pub(super) fn module_of(path: &str) -> Vec<String> {
    let inner = path.trim_end_matches(".rs").split_once("src/").map_or(path, |(_, inner)| inner);
    let mut parts: Vec<String> = inner.split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| last == "mod" || parts.len() == 1 && (last == "lib" || last == "main")) {
        parts.pop();
    }
    parts
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    line: usize,
    text: String,
}

impl Token {
    fn is(&self, text: &str) -> bool {
        self.text == text
    }

    fn is_name(&self) -> bool {
        self.text.starts_with(|first: char| first.is_alphabetic() || first == '_')
    }
}

/// Names, `::` and single signs, each with its line. A literal becomes `""`.
fn lex(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let (mut tokens, mut at, mut line) = (Vec::new(), 0, 1);
    while let Some(&first) = chars.get(at) {
        let end = at + length(&chars[at..]);
        let piece = &chars[at..end];
        if let Some(text) = spoken(first, piece) {
            tokens.push(Token { line, text });
        }
        line += piece.iter().filter(|&&sign| sign == '\n').count();
        at = end;
    }
    tokens
}

/// What a piece says to the reader of paths; nothing for blanks and comments.
fn spoken(first: char, piece: &[char]) -> Option<String> {
    let comment = first == '/' && matches!(piece.get(1), Some('/' | '*'));
    if first.is_whitespace() || comment {
        None
    } else if matches!(first, '"' | '\'') || piece.last() == Some(&'"') || piece.len() > 1 && piece.ends_with(&['#']) {
        Some("\"\"".to_owned())
    } else {
        let text: String = piece.iter().collect();
        Some(text.strip_prefix("r#").map_or(text.clone(), str::to_owned))
    }
}

/// How many characters the next piece has; never zero for a rest that is not empty.
fn length(rest: &[char]) -> usize {
    let second = rest.get(1).copied();
    match rest[0] {
        '/' if second == Some('/') => rest.iter().position(|&sign| sign == '\n').unwrap_or(rest.len()),
        '/' if second == Some('*') => block_comment(rest),
        '"' => 1 + quoted(&rest[1..]),
        '\'' => quote_or_lifetime(rest),
        ':' if second == Some(':') => 2,
        first if first.is_alphanumeric() || first == '_' => word(rest),
        _ => 1,
    }
}

/// A name or a number, or the string that a prefix (`r`, `b`, `br`, `c`, `cr`) begins.
fn word(rest: &[char]) -> usize {
    let end = rest.iter().position(|&sign| !sign.is_alphanumeric() && sign != '_').unwrap_or(rest.len());
    let prefix: String = rest[..end].iter().collect();
    let hashes = rest[end..].iter().take_while(|&&sign| sign == '#').count();
    let opened = rest.get(end + hashes) == Some(&'"');
    match prefix.as_str() {
        "r" | "br" | "cr" if opened => {
            let body = end + hashes + 1;
            let closing: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
            let found = rest[body..].windows(closing.len()).position(|window| window == closing);
            found.map_or(rest.len(), |found| body + found + closing.len())
        }
        "b" | "c" if hashes == 0 && opened => end + 1 + quoted(&rest[end + 1..]),
        "r" if hashes == 1 => end + 1 + word(&rest[end + 1..]),
        _ => end,
    }
}

/// The rest of a string after its opening quote, with the closing one.
fn quoted(rest: &[char]) -> usize {
    let mut at = 0;
    while at < rest.len() {
        match rest[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

fn quote_or_lifetime(rest: &[char]) -> usize {
    match (rest.get(1), rest.get(2)) {
        // An escape: from the sign after the backslash on, up to the closing quote.
        (Some('\\'), _) => rest.iter().skip(3).position(|&sign| sign == '\'').map_or(rest.len(), |found| found + 4),
        (Some(_), Some('\'')) => 3,
        _ => 1 + rest[1..].iter().take_while(|sign| sign.is_alphanumeric() || **sign == '_').count(),
    }
}

fn block_comment(rest: &[char]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while at < rest.len() {
        match (rest[at], rest.get(at + 1)) {
            ('/', Some('*')) => (at, depth) = (at + 2, depth + 1),
            ('*', Some('/')) => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

const TEST_ONLY: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];

/// Takes the items under `#[cfg(test)]` out; gives their lines and the names of modules declared so.
fn without_tests(tokens: Vec<Token>) -> (Vec<Token>, Vec<RangeInclusive<usize>>, Vec<String>) {
    let (mut kept, mut lines, mut modules) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        let here = &tokens[at..];
        if TEST_ONLY.len() <= here.len() && here.iter().zip(TEST_ONLY).all(|(token, text)| token.is(text)) {
            let item = item_length(&here[TEST_ONLY.len()..]);
            let whole = &here[..TEST_ONLY.len() + item];
            if let [.., module, name, end] = whole
                && module.is("mod")
                && end.is(";")
            {
                modules.push(name.text.clone());
            }
            lines.push(whole[0].line..=whole[whole.len() - 1].line);
            at += whole.len();
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    (kept, lines, modules)
}

/// How many tokens an item has: up to its `;`, or its closing brace where no `;` must follow.
fn item_length(tokens: &[Token]) -> usize {
    let ends_with_semicolon = tokens
        .iter()
        .find(|token| ["use", "const", "static", "type", "mod", "fn", "impl", "struct", "enum"].contains(&&*token.text))
        .is_some_and(|word| ["use", "const", "static", "type"].contains(&&*word.text));
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (token.is(";") || token.is("}") && !ends_with_semicolon) {
            return at + 1;
        }
    }
    tokens.len()
}

/// Every path in the tokens, `use` trees taken apart.
fn paths(tokens: &[Token], module: &[String], externs: &[&str]) -> Vec<Named> {
    let mut found = Vec::new();
    // Modules written in place make `self` and `super` mean something else: each with the depth of its braces.
    let (mut inner, mut depth): (Vec<(String, usize)>, usize) = (Vec::new(), 0);
    let mut at = 0;
    while at < tokens.len() {
        let mut here = module.to_vec();
        here.extend(inner.iter().map(|(name, _)| name.clone()));
        let mut raw = Vec::new();
        let from = at;
        match tokens[at].text.as_str() {
            "{" => (depth, at) = (depth + 1, at + 1),
            "}" => {
                depth = depth.saturating_sub(1);
                inner.retain(|(_, opened)| *opened < depth + 1);
                at += 1;
            }
            "mod" if tokens.get(at + 2).is_some_and(|next| next.is("{")) => {
                inner.push((tokens[at + 1].text.clone(), depth + 1));
                at += 2;
            }
            "use" if !tokens.get(at + 1).is_some_and(|next| next.is("<")) => {
                at = use_tree(tokens, at + 1, &[], &mut raw);
            }
            _ if tokens[at].is_name() && !preceded_by_path(tokens, at) => at = plain_path(tokens, at, &mut raw),
            _ => at += 1,
        }
        debug_assert!(at > from, "each turn takes at least one token");
        found.extend(raw.into_iter().filter_map(|named| rooted(named, &here, externs)));
    }
    found
}

fn preceded_by_path(tokens: &[Token], at: usize) -> bool {
    // `::name` after a name is the middle of a path; a leading `::` begins one.
    at >= 2 && tokens[at - 1].is("::") && (tokens[at - 2].is_name() || tokens[at - 2].is(">"))
}

/// One path outside a `use`: at least two segments, or it is only a local name.
fn plain_path(tokens: &[Token], from: usize, found: &mut Vec<Named>) -> usize {
    let mut segments = vec![tokens[from].text.clone()];
    let mut at = from + 1;
    while let [colons, name, ..] = &tokens[at..]
        && colons.is("::")
        && name.is_name()
    {
        segments.push(name.text.clone());
        at += 2;
    }
    if segments.len() > 1 {
        found.push(Named { line: tokens[from].line, segments });
    }
    at
}

/// One branch of a `use` tree; gives the place after it.
fn use_tree(tokens: &[Token], from: usize, before: &[String], found: &mut Vec<Named>) -> usize {
    let (mut segments, mut at) = (before.to_vec(), from);
    let line = tokens.get(from).map_or(0, |token| token.line);
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            "::" => at += 1,
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|token| !token.is("}")) {
                    at = use_tree(tokens, at, &segments, found);
                    at += usize::from(tokens.get(at).is_some_and(|token| token.is(",")));
                }
                return at + 1;
            }
            "as" => at += 2,
            // `use a::{self}` names `a`.
            "self" if !segments.is_empty() => at += 1,
            "*" => {
                segments.push("*".to_owned());
                at += 1;
            }
            _ if token.is_name() => {
                segments.push(token.text.clone());
                at += 1;
            }
            _ => break,
        }
    }
    found.push(Named { line, segments });
    at
}

/// The path from its root, or nothing if it begins with a name of the file's own.
fn rooted(named: Named, here: &[String], externs: &[&str]) -> Option<Named> {
    let mut rest = named.segments.iter().map(String::as_str).peekable();
    let mut base = match rest.next()? {
        "crate" | "zayavka" => Vec::new(),
        "self" => here.to_vec(),
        "super" => {
            let mut up = 1;
            while rest.next_if_eq(&"super").is_some() {
                up += 1;
            }
            here[..here.len().saturating_sub(up)].to_vec()
        }
        first if externs.contains(&first) => return Some(named),
        _ => return None,
    };
    base.insert(0, "crate".to_owned());
    base.extend(rest.map(str::to_owned));
    Some(Named { line: named.line, segments: base })
}
