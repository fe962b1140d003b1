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
    /// Sets a row of the table that goes with every call and keeps its length; a value for each column.
    fn set(&mut self, row: usize, values: &[i64]);

    /// The policy's answer. `None` after a failure, which the maker of the rules knows of and ends the run for.
    fn ask(&mut self, number: i64) -> Option<i64>;

    /// The policy's answer in arrays of equal length. `more` has the columns of one more table, of any length, where
    /// the family has one. `None` as of [`ForeignRule::ask`].
    fn arrays(&mut self, number: i64, more: &[Vec<i64>]) -> Option<Vec<Vec<i64>>>;

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
        Rule(made.unwrap_or_else(|| Box::new(Absent)))
    }
}

/// Stands where nobody handed in the policies, or one could not be made.
#[derive(Clone)]
struct Absent;

impl ForeignRule for Absent {
    fn set(&mut self, _: usize, _: &[i64]) {}

    fn ask(&mut self, _: i64) -> Option<i64> {
        None
    }

    fn arrays(&mut self, _: i64, _: &[Vec<i64>]) -> Option<Vec<Vec<i64>>> {
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
    /// Fills the table; of `values`, each is a row.
    #[inline]
    pub(crate) fn fill<const N: usize>(&mut self, values: impl Iterator<Item = [i64; N]>) {
        for (row, values) in values.enumerate() {
            self.0.set(row, &values);
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

    /// Like [`Rule::answer`], where the answer is a list of numbers.
    pub(crate) fn list(
        &mut self,
        number: i64,
        expected: &str,
        is_right: impl Fn(&[i64]) -> bool,
    ) -> Option<Vec<i64>> {
        let answer = self.0.arrays(number, &[])?.pop()?;
        if is_right(&answer) {
            return Some(answer);
        }
        let begin = &answer[..answer.len().min(16)];
        self.refuse(number, &format!("{} numbers that begin {begin:?}", answer.len()), expected);
        None
    }

    /// The pairs of numbers that answer a table of any length.
    pub(crate) fn plan(&mut self, number: i64, table: &[Vec<i64>]) -> Option<Vec<[i64; 2]>> {
        let answer = self.0.arrays(number, table)?;
        let [first, second] = answer.as_slice() else { return None };
        Some(first.iter().zip(second).map(|(&one, &two)| [one, two]).collect())
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

/// Policies from outside that are functions of these tests.
#[cfg(test)]
pub(crate) mod stub {
    use super::*;

    type Answer = fn(i64, &[Vec<i64>]) -> Vec<i64>;

    /// One that answers with a list, by the number and the rows of the table.
    pub(crate) fn lists(answer: Answer) -> Foreign {
        Foreign(Some(Arc::new(Lists(answer))))
    }

    /// The name of one where the name of a built-in policy stands.
    pub(crate) fn named<T: for<'de> Deserialize<'de>>(family: &str) -> T {
        let name = format!("{PREFIX}{family}/stub@1");
        T::deserialize(serde::de::value::StrDeserializer::<serde::de::value::Error>::new(&name)).unwrap()
    }

    struct Lists(Answer);

    #[derive(Clone)]
    struct ListRule(Answer, Vec<Vec<i64>>);

    impl ForeignPolicies for Lists {
        fn rule(&self, _: &'static str, _: ForeignName, columns: &[usize]) -> Option<Box<dyn ForeignRule>> {
            Some(Box::new(ListRule(self.0, vec![vec![0; columns.len()]; columns[0]])))
        }
    }

    impl ForeignRule for ListRule {
        fn set(&mut self, row: usize, values: &[i64]) {
            self.1[row].copy_from_slice(values);
        }

        fn ask(&mut self, _: i64) -> Option<i64> {
            None
        }

        fn arrays(&mut self, number: i64, _: &[Vec<i64>]) -> Option<Vec<Vec<i64>>> {
            Some(vec![(self.0)(number, &self.1)])
        }

        fn refuse(&mut self, _: i64, answer: &str, expected: &str) {
            panic!("{answer}: expected {expected}");
        }

        fn save(&self) -> Result<String, String> {
            Ok(String::new())
        }

        fn load(&mut self, _: &str) -> Result<(), String> {
            Ok(())
        }
    }
}
