import type { ReactNode } from 'react';

// Drawn on 16 by 16 with lines of 1.5, in the colour of the text. They say nothing by themselves: what they mean stands beside them.

function Icon({ children, filled }: { children: ReactNode; filled?: boolean }) {
  return (
    <svg
      className="troupe-icon"
      viewBox="0 0 16 16"
      width="16"
      height="16"
      fill={filled ? 'currentColor' : 'none'}
      stroke={filled ? 'none' : 'currentColor'}
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      {children}
    </svg>
  );
}

export const CheckIcon = () => (
  <Icon>
    <path d="m3.5 8.5 3 3 6-7" />
  </Icon>
);
export const CrossIcon = () => (
  <Icon>
    <path d="m4 4 8 8m0-8-8 8" />
  </Icon>
);
export const ChevronIcon = () => (
  <Icon>
    <path d="m6 4 4 4-4 4" />
  </Icon>
);
export const ArrowUpIcon = () => (
  <Icon>
    <path d="M8 13V3M3.5 7.5 8 3l4.5 4.5" />
  </Icon>
);
export const ArrowDownIcon = () => (
  <Icon>
    <path d="M8 3v10m4.5-4.5L8 13 3.5 8.5" />
  </Icon>
);
export const StopIcon = () => (
  <Icon filled>
    <rect x="4" y="4" width="8" height="8" rx="1.5" />
  </Icon>
);
export const RetryIcon = () => (
  <Icon>
    <path d="M13 8a5 5 0 1 1-1.5-3.6M13 2.5v2.7h-2.7" />
  </Icon>
);
export const WarnIcon = () => (
  <Icon>
    <path d="M8 2.5 14 13H2L8 2.5ZM8 6.5v3M8 11.4v.1" />
  </Icon>
);
export const FileIcon = () => (
  <Icon>
    <path d="M9 2H4.5v12h7V4.5L9 2Zm0 0v2.5h2.5M6.5 8h3M6.5 10.5h3" />
  </Icon>
);
export const CopyIcon = () => (
  <Icon>
    <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
    <path d="M10.5 5.5V4A1.5 1.5 0 0 0 9 2.5H4A1.5 1.5 0 0 0 2.5 4v5A1.5 1.5 0 0 0 4 10.500h1.5" />
  </Icon>
);
export const ClipIcon = () => (
  <Icon>
    <path d="m13 7.5-5 5a3.2 3.2 0 0 1-4.5-4.500l5.5-5.500a2.2 2.2 0 0 1 3 3L6.5 11a1 1 0 0 1-1.5-1.500l4.5-4.5" />
  </Icon>
);
export const ToolIcon = () => (
  <Icon>
    <path d="M10 2.700a3.5 3.5 0 0 0-3.4 4.600L2.7 11.200a1.48 1.48 0 0 0 2.1 2.100l3.9-3.900A3.5 3.5 0 0 0 13.3 6L11 7 9 5l1-2.300Z" />
  </Icon>
);
export const ShieldIcon = () => (
  <Icon>
    <path d="M8 2 3 4v3.500c0 3 2 5.3 5 6.5 3-1.2 5-3.5 5-6.500V4L8 2Zm-2 6 1.5 1.500L10.2 6.5" />
  </Icon>
);
export const QuestionIcon = () => (
  <Icon>
    <path d="M6 6a2 2 0 1 1 3 1.700c-.7.4-1 .8-1 1.500M8 11.400v.1M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0Z" />
  </Icon>
);
export const OfflineIcon = () => (
  <Icon>
    <path d="M2 6.500a9 9 0 0 1 3.5-2m5 0a9 9 0 0 1 3.5 2M4.5 9a5.5 5.5 0 0 1 7 0M8 12.400v.1M3 2l10 12" />
  </Icon>
);
