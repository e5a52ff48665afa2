//! Timestamps of a region: at the start, after all inputs are on the device, after each dispatch, and at the end. They are copied to staging memory.
//! Only a runtime that measures has them.

use super::choose::MOST_FAMILIES;
use super::functions::Vk;
use super::layout::{DEVICE_PROPERTIES, LIMITS, QUERY_POOL_CREATE_INFO, QUEUE_FAMILY_PROPERTIES};
use super::tables::{Head, region_row};
use crate::driver::language::{Builder, Operand, Value, Width};
use modelc_interface::device::Field;

/// `VK_QUERY_TYPE_TIMESTAMP`
const TIMESTAMP: u64 = 2;
/// `VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT`
const BOTTOM: u64 = 0x2000;
/// `VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT`
const WHOLE_AND_THERE: u64 = 1 | 2;

/// Makes the pool of timestamps, and stores the length of a tick. Does nothing if the queue has no timestamps.
pub fn prepare(e: &mut Builder, part: Value, table: Value) {
    let (families, count) = (e.memory((QUEUE_FAMILY_PROPERTIES.bytes() * MOST_FAMILIES) as u32), e.memory(8));
    e.store(Width::Single, MOST_FAMILIES, count, 0);
    let physical = e.field(part, Field::Physical);
    e.vulkan_only(part, Vk::GetPhysicalDeviceQueueFamilyProperties, vec![physical.into(), count.into(), families.into()]);
    let family = e.field(part, Field::Family);
    let family = e.extend(Width::Word, family);
    let offset = e.mul(family, QUEUE_FAMILY_PROPERTIES.bytes());
    let family = e.add(families, offset);
    let bits = e.load(Width::Single, family, QUEUE_FAMILY_PROPERTIES.offset("timestampValidBits"));
    e.when(bits, |e| {
        let properties = e.room(&DEVICE_PROPERTIES);
        e.vulkan_only(part, Vk::GetPhysicalDeviceProperties, vec![physical.into(), properties.into()]);
        let limits = e.at(properties, DEVICE_PROPERTIES.offset("limits") as u64);
        let period = e.load(Width::Single, limits, LIMITS.offset("timestampPeriod"));
        e.set_field(period, part, Field::Period);
        let count = e.head_single(table, Head::Timestamps);
        let information = e.structure(&QUERY_POOL_CREATE_INFO, &[("queryType", TIMESTAMP.into()), ("queryCount", count.into())]);
        e.vulkan_make_on_device(part, Vk::CreateQueryPool, information, (part, Field::Queries.offset()));
    });
}

/// The timestamps of a region while its commands are recorded.
pub struct Measure {
    part: Value,
    commands: Value,
    /// The query pool, or 0.
    pool: Value,
    /// Address of the number of the next timestamp.
    next: Value,
}

impl Measure {
    /// Resets the region's timestamps and takes the first; called before other commands are recorded.
    pub fn begin(e: &mut Builder, part: Value, commands: Value, row: Value) -> Self {
        let pool = e.field(part, Field::Queries);
        let (next, first) = (e.memory(8), e.load(Width::Single, row, region_row::FIRST_TIMESTAMP));
        e.store(Width::Single, first, next, 0);
        let measure = Self { part, commands, pool, next };
        let count = e.load(Width::Single, row, region_row::TIMESTAMPS);
        e.when(pool, |e| {
            e.vulkan_only(part, Vk::CmdResetQueryPool, [commands, pool, first, count].map(Operand::Value).to_vec());
        });
        measure.stamp(e);
        measure
    }

    /// Takes the next timestamp, when all commands recorded so far are done.
    pub fn stamp(&self, e: &mut Builder) {
        let &Self { part, commands, pool, next } = self;
        e.when(pool, |e| {
            let number = e.load(Width::Single, next, 0);
            e.vulkan_only(part, Vk::CmdWriteTimestamp, vec![commands.into(), BOTTOM.into(), pool.into(), number.into()]);
            let after = e.add(number, 1);
            e.store(Width::Single, after, next, 0);
        });
    }

    /// Takes the last timestamp, and copies all timestamps to staging memory.
    pub fn end(&self, e: &mut Builder, staging: Value, row: Value) {
        self.stamp(e);
        let &Self { part, commands, pool, .. } = self;
        let [first, count] = [region_row::FIRST_TIMESTAMP, region_row::TIMESTAMPS].map(|field| e.load(Width::Single, row, field));
        let place = e.load(Width::Word, row, region_row::TIMES);
        e.when(pool, |e| {
            let mut arguments: Vec<Operand> = [commands, pool, first, count, staging, place].map(Operand::Value).to_vec();
            arguments.extend([Operand::Number(8), Operand::Number(WHOLE_AND_THERE)]);
            e.vulkan_only(part, Vk::CmdCopyQueryPoolResults, arguments);
        });
    }
}
