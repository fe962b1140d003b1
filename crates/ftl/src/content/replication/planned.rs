//! Copies that a policy from outside plans at the end of each period, all at once.

use std::collections::HashMap;

use super::chips::Chips;
use super::contract::{CopyContext, NewCopy, Replication, chips_in_use, replica_room};
use super::earning::add_shared_copy;
use super::end_of_period::{by_popularity, copy_at_once};
use super::placement::{Equals, ScorePopularity, may_hold};
use crate::error::FtlResult;
use crate::foreign::Rule;
use crate::ids::Vpn;
use flashtwin_nand::Chip;

#[derive(Clone)]
pub(super) struct Planned {
    pub(super) rule: Rule,
}

/// A copy that the plan may not have; it ends the run.
const EXPECTED: &str = "contents of the table, each with a chip that has free pages and no copy of it yet";

impl Planned {
    /// The copies of the plan in its order; none after a failure.
    fn plan(&mut self, context: &CopyContext<'_>, chips: &Chips) -> (i64, Vec<[i64; 2]>) {
        let (map, blocks) = (&context.tables.map, &context.flash.blocks);
        let rows = by_popularity(map, Equals::ByNumber);
        let column = |of: &dyn Fn(Vpn) -> i64| rows.iter().map(|&vpn| of(vpn)).collect::<Vec<_>>();
        let contents = [
            column(&|vpn| i64::from(vpn.number())),
            column(&|vpn| i64::from(map.popularity(vpn))),
            column(&|vpn| i64::from(map.pages_of(vpn))),
            column(&|vpn| blocks.chip_of_page(map.home(vpn)).index() as i64),
        ];
        let budget = context.space.budget_pages.saturating_sub(map.pages_in_use()) as i64;
        self.rule.fill(chips.views().iter().map(|chip| chip.columns()));
        (budget, self.rule.plan(budget, &contents).unwrap_or_default())
    }

    /// Makes one copy; `None` where the plan may not have it, `false` when the space is used up.
    fn copy(
        &mut self,
        [content, chip]: [i64; 2],
        chips: &mut Chips,
        sources: &mut HashMap<u32, [usize; 2]>,
        context: &mut CopyContext<'_>,
    ) -> FtlResult<Option<bool>> {
        let (map, blocks) = (&context.tables.map, &context.flash.blocks);
        if !(0..i64::from(map.vpn_slots())).contains(&content)
            || !(0..chips.views().len() as i64).contains(&chip)
        {
            return Ok(None);
        }
        let (vpn, chip) = (Vpn::new(content as u32), Chip::new(chip as u32));
        if !map.is_live(vpn) || map.popularity(vpn) == 0 {
            return Ok(None);
        }
        let level = map.popularity(vpn);
        let Some(gives_way) = replica_room(map, level, context.space.budget_pages) else {
            return Ok(Some(false));
        };
        if let Some(victim) = gives_way {
            chips.lose_last(map, blocks, victim);
        }
        if !may_hold(chip, chips.views(), &chips_in_use(map, blocks, vpn)) {
            return Ok(None);
        }
        // Sources take turns, as at the end of a period without a plan: those that the content had before its new copies.
        let [places, turn] = sources.entry(vpn.number()).or_insert([map.copies(vpn).count(), 0]);
        let source = *turn;
        *turn = (*turn + 1) % *places;
        gives_way.into_iter().for_each(|victim| context.drop_replica(victim));
        let Some(page) = add_shared_copy(NewCopy { vpn, source, chip, level }, context, chips)? else {
            // No fault of the plan, which was told of room that a retired block took since.
            return Ok(Some(false));
        };
        copy_at_once(&page, context)?;
        Ok(Some(true))
    }
}

impl Replication for Planned {
    const COUNTS_POPULARITY: bool = true;
    const COPIES_AT_PERIOD_ENDS: bool = true;

    fn end_period(&mut self, context: &mut CopyContext<'_>) -> FtlResult {
        let levels = context.tables.map.popularities();
        context.tables.map.replicas.relevel(|vpn| levels[vpn]);
        let mut chips = Chips::of(&context.tables.map, &context.flash.blocks, ScorePopularity::Mean);
        let (budget, plan) = self.plan(context, &chips);
        let mut sources = HashMap::new();
        for copy in plan {
            match self.copy(copy, &mut chips, &mut sources, context)? {
                Some(true) => {}
                Some(false) => break,
                None => {
                    let [content, chip] = copy;
                    self.rule.refuse(
                        budget,
                        &format!("a copy of content {content} on chip {chip}"),
                        EXPECTED,
                    );
                    break;
                }
            }
        }
        Ok(())
    }
}

flashtwin_bits::state!(Planned { rule });
