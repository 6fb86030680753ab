//! A mistake in an operator's file, with its place and what to do, so that `check` can list all of them at once.

use std::fmt;

/// Whether the service may start with this problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It may not.
    Error,
    /// It may; the operator should look.
    Warning,
}

/// One mistake. `what` and `hint` never hold a secret's value.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// Whether it stops the start.
    pub severity: Severity,
    /// The file as the operator knows it, or the name of an environment variable.
    pub file: String,
    /// Line in the file, from 1; absent where the mistake is something that is not there.
    pub line: Option<u32>,
    /// Column in characters, from 1.
    pub column: Option<u32>,
    /// What is wrong.
    pub what: String,
    /// What to do about it; may be empty.
    pub hint: String,
}

impl Problem {
    /// Whether it is an error of this setting, by its dotted name, written in place or in a file of its own.
    #[must_use]
    pub fn is_of(&self, setting: &str) -> bool {
        let named = self.what.strip_prefix('`').and_then(|rest| rest.strip_prefix(setting));
        let named = named.is_some_and(|rest| rest.starts_with('`') || rest.starts_with("_file`"));
        named && self.severity == Severity::Error
    }

    /// The setting that its words begin with, if they begin with one.
    #[must_use]
    pub fn setting(&self) -> Option<&str> {
        self.what.strip_prefix('`')?.split('`').next()
    }
}

impl fmt::Display for Problem {
    /// `file:line: what — hint`, a warning with `warning: ` before what.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        f.write_str(": ")?;
        if self.severity == Severity::Warning {
            f.write_str("warning: ")?;
        }
        f.write_str(&self.what)?;
        if !self.hint.is_empty() {
            write!(f, " — {}", self.hint)?;
        }
        Ok(())
    }
}

/// All mistakes found so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a mistake that stops the start.
    pub fn error(
        &mut self,
        file: impl Into<String>,
        line: Option<u32>,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.push(Severity::Error, file, line, what, hint);
    }

    /// Records something the operator should look at.
    pub fn warning(
        &mut self,
        file: impl Into<String>,
        line: Option<u32>,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.push(Severity::Warning, file, line, what, hint);
    }

    fn push(
        &mut self,
        severity: Severity,
        file: impl Into<String>,
        line: Option<u32>,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.0.push(Problem { severity, file: file.into(), line, column: None, what: what.into(), hint: hint.into() });
    }

    /// Takes over another list.
    pub fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Takes over what of another list is not of a setting that this one has an error of already: one mistake, one line.
    pub fn append_unsaid(&mut self, other: Self) {
        let said = |problem: &Problem| {
            problem.setting().is_some_and(|setting| self.0.iter().any(|known| known.is_of(setting)))
        };
        let unsaid: Vec<_> = other.0.into_iter().filter(|problem| !said(problem)).collect();
        self.0.extend(unsaid);
    }

    /// The same, none of which stops the start.
    #[must_use]
    pub fn as_warnings(self) -> Self {
        let softened = self.0.into_iter().map(|problem| Problem { severity: Severity::Warning, ..problem });
        Self(softened.collect())
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether anything stops the start.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|p| p.severity == Severity::Error)
    }

    /// Puts them in reading order: by file, then line, then column; those without a line first.
    pub fn sort(&mut self) {
        self.0.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    }

    /// One after the other.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }
}

impl fmt::Display for Problems {
    /// One problem a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_reads_as_one_line_with_its_place() {
        let mut problems = Problems::new();
        problems.warning("b.toml", Some(2), "odd", "");
        problems.error("a.toml", None, "no token", "put it in");
        problems.error("a.toml", Some(7), "bad port", "1 to 65535");
        problems.sort();
        assert_eq!(
            problems.to_string(),
            "a.toml: no token — put it in\na.toml:7: bad port — 1 to 65535\nb.toml:2: warning: odd"
        );
        assert!(problems.has_errors());
    }

    #[test]
    fn one_mistake_of_a_setting_is_one_line() {
        let mut problems = Problems::new();
        problems.error("z.toml", Some(3), "`crm.secrets.token_file`: t is empty", "");
        problems.warning("z.toml", Some(4), "`crm.vars.a` is odd", "");
        let mut found = Problems::new();
        for what in ["`crm.secrets.token` is missing", "`crm.secrets.tok` is missing", "`crm.vars.a` is missing", "no"]
        {
            found.error("z.toml", Some(3), what, "");
        }
        problems.append_unsaid(found);
        let said: Vec<_> = problems.iter().map(|problem| problem.what.as_str()).collect();
        assert_eq!(
            said,
            [
                "`crm.secrets.token_file`: t is empty",
                "`crm.vars.a` is odd",
                "`crm.secrets.tok` is missing",
                "`crm.vars.a` is missing",
                "no"
            ]
        );
        assert!(!problems.as_warnings().has_errors());
    }
}
