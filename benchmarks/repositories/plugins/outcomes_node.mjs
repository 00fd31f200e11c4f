// Reporter of `node --test` that writes the outcome of each test to the file of the variable `TEST_OUTCOMES`.
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';

export default async function* report(source) {
  const outcomes = {};
  const names = [];
  for await (const { type, data } of source) {
    if (type === 'test:start') {
      names.length = data.nesting;
      names[data.nesting] = data.name;
    }
    if (type === 'test:pass' || type === 'test:fail') {
      names.length = data.nesting;
      names[data.nesting] = data.name;
      if (data.details?.type === 'suite' && type === 'test:pass') continue;
      const file = data.file ? relative(process.cwd(), data.file) : '';
      const id = [file, ...names].join(' > ');
      const outcome = data.skip !== undefined || data.todo !== undefined ? 'skipped' : type.slice(5) + 'ed';
      // Tests with one name count as one, which fails if any of them fails.
      if (outcomes[id] !== 'failed') outcomes[id] = outcome === 'passed' || outcome === 'skipped' ? outcome : 'failed';
    }
  }
  writeFileSync(process.env.TEST_OUTCOMES, JSON.stringify(outcomes));
  yield '';
}
