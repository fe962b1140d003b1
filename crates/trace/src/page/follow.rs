//! Follows contents of any source through a trace, window by window.

use super::ContentSource;
use super::content::{Before, Recorded};
use super::made::Made;
use super::outline::{PageQuality, TraceProperties};
use super::window::PageColumns;
use crate::error::TraceError;
use crate::request::NO_CONTENT;
use crate::requests::Requests;

#[derive(Clone)]
pub(super) enum Follower {
    Recorded(Box<Recorded>),
    Made(Box<Made>),
    None,
}

pub(super) struct Followed {
    pub(super) initial_content: Vec<u32>,
    pub(super) content_count: u32,
    pub(super) zero_content: Option<u32>,
}

impl Follower {
    /// Contents of `source`; `None` if they depend on the end of the trace.
    pub(super) fn new(source: ContentSource, known: &TraceProperties<'_>) -> Option<Follower> {
        Some(match source {
            ContentSource::Recorded => Follower::Recorded(Box::new(Recorded::new(known))),
            ContentSource::None => Follower::None,
            made_up => Follower::Made(Box::new(Made::new(made_up, known)?)),
        })
    }

    pub(super) fn add(
        &mut self,
        requests: &Requests<'_>,
        columns: &mut PageColumns,
        pages: usize,
        before: &Before,
        quality: &mut PageQuality,
    ) -> Result<(), TraceError> {
        match self {
            Follower::Recorded(recorded) => recorded.add(requests, columns, pages, before, quality),
            Follower::Made(made) => made.add(columns, pages, before, quality),
            Follower::None => {
                columns.content.resize(columns.lpn.len(), NO_CONTENT);
                Ok(())
            }
        }
    }

    pub(super) fn content_count(&self) -> u32 {
        match self {
            Follower::Recorded(recorded) => recorded.content_count(),
            Follower::Made(made) => made.content_count(),
            Follower::None => 0,
        }
    }

    pub(super) fn was_right(&self, before: &Before) -> bool {
        match self {
            Follower::Recorded(recorded) => recorded.was_right(before),
            Follower::Made(_) | Follower::None => true,
        }
    }

    /// `zero`: the trace's content that is nothing but zeroes.
    pub(super) fn finish(self, pages: usize, zero: Option<u32>) -> Followed {
        let content_count = self.content_count();
        let zero_content = match &self {
            Follower::Recorded(recorded) => zero.and_then(|zero| recorded.page_of(zero)),
            Follower::Made(_) | Follower::None => None,
        };
        let mut initial_content = match self {
            Follower::Recorded(recorded) => recorded.into_initial(),
            Follower::Made(made) => made.into_initial(),
            Follower::None => Vec::new(),
        };
        initial_content.resize(pages, NO_CONTENT);
        Followed { initial_content, content_count, zero_content }
    }
}
