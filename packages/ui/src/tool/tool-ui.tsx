import { type ComponentType, createContext, type ReactNode, useContext, useMemo } from 'react';
import type { ShownCall, ShownTool } from './call.ts';

/** What a component gets that shows the calls of a tool. */
export interface ToolUiProps {
  call: ShownCall;
  /** Settles the call with this; rejects where the server refuses it. */
  submit: (result: unknown) => Promise<void>;
  /** Settles it as failed. */
  fail: (message: string, code?: string) => Promise<void>;
  /** Whether it can still be answered, by whoever sees it. */
  canAnswer: boolean;
  /** An answer is on its way. */
  isBusy: boolean;
}

export type ToolComponents = Readonly<Record<string, ComponentType<ToolUiProps>>>;

interface ToolUiSettings {
  components: ToolComponents;
  tools: ReadonlyMap<string, ShownTool>;
}

const Settings = createContext<ToolUiSettings>({ components: {}, tools: new Map() });

export interface ToolUiProviderProps {
  /** Components by the name of the tool, or by the `display.customUI` of the tool. */
  tools: ToolComponents;
  /** Tools of the project, for names, descriptions and the forms made of their schemas. */
  definitions?: readonly (ShownTool & { name: string })[] | undefined;
  children?: ReactNode;
}

/** Custom components for calls below it, added to those of a `ToolUi` above. */
export function ToolUi({ tools, definitions, children }: ToolUiProviderProps) {
  const above = useContext(Settings);
  const value = useMemo(
    () => ({
      components: { ...above.components, ...tools },
      tools: definitions
        ? new Map([...above.tools, ...definitions.map((tool) => [tool.name, tool] as const)])
        : above.tools,
    }),
    [above, tools, definitions],
  );
  return <Settings value={value}>{children}</Settings>;
}

export function useToolComponent(call: ShownCall): ComponentType<ToolUiProps> | undefined {
  const { components } = useContext(Settings);
  const named = (name: string | null | undefined) =>
    name && Object.hasOwn(components, name) ? components[name] : undefined;
  return named(call.customUI) ?? named(call.tool);
}

export function useToolDefinition(name: string): ShownTool | undefined {
  return useContext(Settings).tools.get(name);
}
