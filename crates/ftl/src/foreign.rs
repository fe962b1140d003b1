//! Policies from outside of this crate: written in Python, or compiled by somebody else.
//!
//! A configuration names one as `python:FAMILY/NAME@DIGEST` where the name of a policy stands. Whoever runs the
//! controller hands in [`ForeignPolicies`], which makes the rules. A rule sees numbers and columns of numbers and answers
//! with a number, so that one mechanism serves every family. The families check the answers.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use flashtwin_bits::{Loader, Saver, State, StateResult, unfit};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The beginning of the names of policies from outside.
pub const PREFIX: &str = "python:";

/// No chip, no block: the answer of a policy that chooses nothing.
const NOTHING: i64 = -1;

/// The name of a policy from outside. It lives as long as the process, so that enums of policies stay plain values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignName(&'static str);

impl ForeignName {
    /// The whole text, as configurations have it.
    pub fn text(self) -> &'static str {
        self.0
    }

    /// The family that the policy was written for.
    pub fn family(self) -> &'static str {
        self.0.trim_start_matches(PREFIX).split('/').next().unwrap_or_default()
    }

    fn new(text: &str) -> Self {
        static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = known.get(text) {
            return Self(name);
        }
        let name: &'static str = Box::leak(text.into());
        known.insert(name);
        Self(name)
    }
}

impl Serialize for ForeignName {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for ForeignName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(from)?;
        match text.starts_with(PREFIX) {
            true => Ok(Self::new(&text)),
            false => Err(serde::de::Error::custom("no policy has this name")),
        }
    }
}

impl schemars::JsonSchema for ForeignName {
    fn schema_name() -> Cow<'static, str> {
        "ForeignName".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": format!("^{PREFIX}") })
    }
}

/// One policy of one run.
pub trait ForeignRule: Send + dyn_clone::DynClone {
    /// A column of the table that goes with every call; it keeps its length.
    fn column(&mut self, at: usize) -> &mut [i64];

    /// The policy's answer. `None` after a failure, which the maker of the rules knows of and ends the run for.
    fn ask(&mut self, number: i64) -> Option<i64>;

    /// The policy's answer to a table of any length: pairs of numbers. `None` as of [`ForeignRule::ask`].
    fn plan(&mut self, number: i64, table: [Vec<i64>; 4]) -> Option<Vec<[i64; 2]>>;

    /// The answer to this number was wrong: the run ends. `expected` says what would have been right.
    fn refuse(&mut self, number: i64, answer: &str, expected: &str);

    /// What the policy remembers, as text.
    ///
    /// # Errors
    /// Why it cannot be written.
    fn save(&self) -> Result<String, String>;

    /// Takes what [`ForeignRule::save`] gave.
    ///
    /// # Errors
    /// Why it cannot be taken.
    fn load(&mut self, state: &str) -> Result<(), String>;
}

dyn_clone::clone_trait_object!(ForeignRule);

/// Makes the rules of a run.
pub trait ForeignPolicies: Send + Sync {
    /// The rule of a policy, whose columns have these lengths. `None` after a failure, as of [`ForeignRule::ask`].
    fn rule(
        &self,
        family: &'static str,
        name: ForeignName,
        columns: &[usize],
    ) -> Option<Box<dyn ForeignRule>>;
}

/// The maker of the rules, beside the configuration that names them. It is no part of what a configuration says.
#[derive(Clone, Default)]
pub struct Foreign(pub Option<Arc<dyn ForeignPolicies>>);

impl PartialEq for Foreign {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Foreign")
    }
}

impl Foreign {
    pub(crate) fn rule(&self, family: &'static str, name: ForeignName, columns: &[usize]) -> Rule {
        let made = self.0.as_ref().and_then(|policies| policies.rule(family, name, columns));
        Rule(
            made.unwrap_or_else(|| Box::new(Absent(columns.iter().map(|&length| vec![0; length]).collect()))),
        )
    }
}

/// Stands where nobody handed in the policies, or one could not be made.
#[derive(Clone)]
struct Absent(Vec<Vec<i64>>);

impl ForeignRule for Absent {
    fn column(&mut self, at: usize) -> &mut [i64] {
        &mut self.0[at]
    }

    fn ask(&mut self, _: i64) -> Option<i64> {
        None
    }

    fn plan(&mut self, _: i64, _: [Vec<i64>; 4]) -> Option<Vec<[i64; 2]>> {
        None
    }

    fn refuse(&mut self, _: i64, _: &str, _: &str) {}

    fn save(&self) -> Result<String, String> {
        Err("its policy is not there".into())
    }

    fn load(&mut self, _: &str) -> Result<(), String> {
        Err("its policy is not there".into())
    }
}

/// A rule with checked answers.
#[derive(Clone)]
pub(crate) struct Rule(Box<dyn ForeignRule>);

impl Rule {
    /// Fills columns of the table; of `values`, each has one for each column.
    #[inline]
    pub(crate) fn fill<const N: usize>(&mut self, values: impl Iterator<Item = [i64; N]>) {
        for (row, values) in values.enumerate() {
            for (column, value) in values.into_iter().enumerate() {
                self.0.column(column)[row] = value;
            }
        }
    }

    /// An answer that `is_right`.
    #[inline]
    pub(crate) fn answer(
        &mut self,
        number: i64,
        expected: &str,
        is_right: impl Fn(i64) -> bool,
    ) -> Option<i64> {
        let answer = self.0.ask(number)?;
        if is_right(answer) {
            return Some(answer);
        }
        self.refuse(number, &answer.to_string(), expected);
        None
    }

    pub(crate) fn plan(&mut self, number: i64, table: [Vec<i64>; 4]) -> Option<Vec<[i64; 2]>> {
        self.0.plan(number, table)
    }

    pub(crate) fn refuse(&mut self, number: i64, answer: &str, expected: &str) {
        self.0.refuse(number, answer, expected);
    }

    /// An answer, or -1 for nothing.
    #[inline]
    pub(crate) fn choice(
        &mut self,
        number: i64,
        expected: &str,
        is_right: impl Fn(i64) -> bool,
    ) -> Option<i64> {
        let answer = self.answer(number, expected, |answer| answer == NOTHING || is_right(answer))?;
        (answer != NOTHING).then_some(answer)
    }
}

impl State for Rule {
    fn save(&self, to: &mut Saver<'_>) -> StateResult {
        self.0.save().map_err(|why| unfit(&why))?.into_bytes().save(to)
    }

    fn load(&mut self, from: &mut Loader<'_>) -> StateResult {
        let mut bytes = Vec::<u8>::new();
        bytes.load(from)?;
        let text = String::from_utf8(bytes).map_err(|_| unfit("a policy's state is no text"))?;
        self.0.load(&text).map_err(|why| unfit(&why))
    }
}
