import { json, MORE, plain, table } from '../output.ts';
import { limitOf, numberOf, yesOrNo } from '../parse.ts';
import type { Command } from './command.ts';
import { findModel, findProvider } from './find-model.ts';
import { show } from './show.ts';

const COLUMNS = ['id', 'modelId', 'displayName', 'isDefault', 'status', 'inputPrice', 'outputPrice'];

export const models: Record<string, Command> = {
  async list({ troupe, terminal, options }) {
    const of = options.provider ? { providerId: (await findProvider(troupe, options.provider)).id } : {};
    const { data, nextCursor } = await troupe.models.listModels({
      query: { limit: limitOf(options), ...of },
    });
    terminal.out(options.json ? json(data) : table(data, COLUMNS));
    if (nextCursor) terminal.err(MORE);
  },
  async add(given) {
    const { troupe, words, options } = given;
    const provider = await findProvider(troupe, words[0]!);
    const numbers = {
      inputPrice: numberOf('input-price', options['input-price']),
      outputPrice: numberOf('output-price', options['output-price']),
      contextTokens: numberOf('context-tokens', options['context-tokens']),
      maxOutputTokens: numberOf('max-output-tokens', options['max-output-tokens']),
    };
    const imageInput = yesOrNo('image-input', options['image-input']);
    const body = {
      modelId: words[1]!,
      ...(imageInput === undefined ? {} : { imageInput }),
      ...(options.name ? { displayName: options.name } : {}),
      ...(options.default ? { isDefault: true } : {}),
      ...(JSON.parse(JSON.stringify(numbers)) as { [Name in keyof typeof numbers]?: number }),
    };
    show(given, await troupe.models.createModel({ params: { providerId: provider.id }, body }));
  },
  async remove({ troupe, terminal, words, options }) {
    const { id, displayName } = await findModel(troupe, words[0]!);
    await troupe.models.deleteModel({ params: { modelId: id } });
    terminal.out(options.json ? json({ id }) : `${plain(displayName)} is removed\n`);
  },
};
