/** Round numbers from 0 to at least `most`, about `count` of them: 0, 20, 40. Whole ones, unless all is below 1. */
export function ticksUpTo(most: number, count = 4): number[] {
  if (!(most > 0)) return [0, 1];
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const ticks: number[] = [];
  // The sum of many steps of 0.1 is not what it should be; their product is.
  for (let index = 0; index === 0 || ticks.at(-1)! < most; index++)
    ticks.push(Number((index * step).toPrecision(12)));
  return ticks;
}

/** Which of `count` buckets have their time below them, where each of these takes `room` pixels of `width`. */
export function labelledBuckets(count: number, width: number, room = 76): number[] {
  const most = Math.max(1, Math.floor(width / room));
  const every = Math.max(1, Math.ceil(count / most));
  const labelled: number[] = [];
  for (let index = 0; index < count; index += every) labelled.push(index);
  return labelled;
}
